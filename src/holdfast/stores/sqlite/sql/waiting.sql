-- waiting: unfinished jobs that name a chain as their blocker, oldest first.
select distinct job.seq, job.id, job.chain_id
  from holdfast_blocker blocker
  join holdfast_job job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id and job.status in ('blocked', 'pending', 'running')
 order by job.seq
