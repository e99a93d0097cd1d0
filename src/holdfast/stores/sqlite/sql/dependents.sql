-- dependents: the jobs that wait or waited for a chain, once for each time they name it, oldest first.
select job.seq, job.id, job.type, job.chain_id, job.status, job.open_blockers, job.scheduled_at, job.attempt, job.worker
  from holdfast_blocker blocker
  join holdfast_job job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id
 order by job.seq, blocker.position
