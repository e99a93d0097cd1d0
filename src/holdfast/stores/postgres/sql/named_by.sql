-- named_by: the chains that these jobs name as blockers, in order.
select blocker.job_id, blocker.chain_id
  from holdfast.blocker
 where blocker.job_id = any(:ids::text[])
 order by blocker.job_id, blocker.position
