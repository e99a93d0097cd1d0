-- prune_expired: finished chains after their keep time, oldest first, except blockers of unfinished jobs.
select last.chain_id
  from holdfast_job last
 where last.expires_at <= :now
   and not exists (
       select 1
         from holdfast_blocker blocker
         join holdfast_job job on job.id = blocker.job_id
        where blocker.chain_id = last.chain_id
          and job.status in ('blocked', 'pending', 'running')
          and job.chain_id <> last.chain_id)
 order by last.expires_at, last.chain_id
 limit :limit
