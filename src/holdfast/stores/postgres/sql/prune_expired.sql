-- prune_expired: finished chains past their keep time, oldest first, except those that an unfinished job names; locked.
select job.chain_id
  from holdfast.job
 where job.expires_at <= :now::bigint
   and not exists (
       select 1
         from holdfast.blocker
         join holdfast.job dependent on dependent.id = blocker.job_id
        where blocker.chain_id = job.chain_id
          and dependent.status in ('blocked', 'pending', 'running')
          and dependent.chain_id <> job.chain_id)
 order by job.expires_at, job.chain_id
 limit :limit::bigint
   for update of job skip locked
