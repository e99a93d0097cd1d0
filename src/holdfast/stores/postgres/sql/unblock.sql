-- unblock: count these chains off for every job that names them; what waits no longer is pending.
-- The rows of the dependents are locked, so of two chains that end at once the second counts what the first left.
with counted as materialized (
    select blocker.job_id, count(*)::int as done, array_agg(blocker.chain_id) as chain_ids
      from holdfast.blocker
     where blocker.chain_id = any(:chain_ids::text[])
     group by blocker.job_id
)
update holdfast.job
   set open_blockers = job.open_blockers - counted.done,
       status = case when job.status = 'blocked' and job.open_blockers = counted.done then 'pending' else job.status end,
       scheduled_at = case when job.status = 'blocked' and job.open_blockers = counted.done
                           then greatest(job.scheduled_at, :now::bigint) else job.scheduled_at end
  from counted
 where job.id = counted.job_id
returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker, job.status = 'pending' and job.open_blockers = 0,
       counted.chain_ids
