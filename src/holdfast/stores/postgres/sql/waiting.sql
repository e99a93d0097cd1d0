-- waiting: unfinished jobs that name these chains as their blockers.
select distinct blocker.chain_id, job.id, job.chain_id, job.seq
  from holdfast.blocker
  join holdfast.job on job.id = blocker.job_id
 where blocker.chain_id = any(:chain_ids::text[]) and job.status in ('blocked', 'pending', 'running')
 order by job.seq
