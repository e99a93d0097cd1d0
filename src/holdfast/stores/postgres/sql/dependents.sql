-- dependents: the jobs that name these chains as their blockers.
select distinct job.seq
  from holdfast.blocker
  join holdfast.job on job.id = blocker.job_id
 where blocker.chain_id = any(:chain_ids::text[])
