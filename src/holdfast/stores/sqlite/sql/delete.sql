-- delete: remove chains and everything that belongs to their jobs.

-- waiting: unfinished jobs that name a chain as their blocker, oldest first.
select distinct job.seq, job.id, job.chain_id
  from holdfast_blocker blocker
  join holdfast_job job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id and job.status in ('blocked', 'pending', 'running')
 order by job.seq

-- delete_job: forget a job.
delete from holdfast_job where seq = :seq

-- delete_attempts: forget a job's history.
delete from holdfast_attempt where job_id = :id

-- delete_blockers: forget what a job waited for.
delete from holdfast_blocker where job_id = :id

-- delete_references: nobody names this chain as a blocker any more.
delete from holdfast_blocker where chain_id = :chain_id
