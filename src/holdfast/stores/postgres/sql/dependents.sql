-- dependents: the jobs that name these chains as their blockers, and whether they are finished.
select distinct blocker.chain_id, job.id, job.chain_id, job.seq, job.status in ('completed', 'failed', 'cancelled')
  from holdfast.blocker
  join holdfast.job on job.id = blocker.job_id
 where blocker.chain_id = any(:chain_ids::text[])
 order by job.seq
