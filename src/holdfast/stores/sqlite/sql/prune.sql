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
   and not exists (select 1 from holdfast_place place where place.chain_id = last.chain_id)
 order by last.expires_at, last.chain_id
 limit :limit

-- prune_taken: those of these chains whose key is not free yet, and when it is.
select first.id, last.finished_at + first.dedup_for
  from holdfast_job first
  join holdfast_job last on last.seq = coalesce(
           (select other.seq from holdfast_job other
             where other.chain_id = first.id and other.chain_index > 0
             order by other.chain_index desc limit 1),
           first.seq)
 where first.id in (select value from json_each(:ids)) and first.chain_index = 0
   and last.status = 'completed' and last.finished_at + first.dedup_for > :now

-- prune_clear: remove the payloads of a job whose chain exists only because its key is not free yet.
update holdfast_job
   set input = :input, output = null, error = null, expires_at = case when expires_at is not null then :until end
 where seq = :seq
