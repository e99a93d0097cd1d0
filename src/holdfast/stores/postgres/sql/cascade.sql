-- cascade: the chains that the jobs of these chains name as blockers, in order.
select job.chain_id, blocker.chain_id
  from holdfast.job
  join holdfast.blocker on blocker.job_id = job.id
 where job.id = any(:chain_ids::text[]) and job.chain_index = 0
    or job.chain_id = any(:chain_ids::text[]) and job.chain_index > 0
 order by job.chain_id, job.chain_index, blocker.position
