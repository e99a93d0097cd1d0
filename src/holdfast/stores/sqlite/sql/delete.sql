-- delete: remove chains and everything that belongs to their jobs.

-- waiting: unfinished jobs that have a chain as blocker, oldest first.
select distinct job.seq, job.id, job.chain_id
  from holdfast_blocker blocker
  join holdfast_job job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id and job.status in ('blocked', 'pending', 'running')
 order by job.seq

-- delete_job: delete a job.
delete from holdfast_job where seq = :seq

-- delete_attempts: delete the history of a job.
delete from holdfast_attempt where job_id = :id

-- delete_blockers: delete the blockers of a job.
delete from holdfast_blocker where job_id = :id

-- delete_references: remove a chain from the blockers of all jobs.
delete from holdfast_blocker where chain_id = :chain_id
