-- retry_open_blockers: how many of the chains that these jobs name are still there and not completed.
select blocker.job_id, count(*)
  from holdfast.blocker
  join holdfast.job first on first.id = blocker.chain_id and first.chain_index = 0
  left join lateral (
    select tail.status
      from holdfast.job tail
     where tail.chain_id = first.id and tail.chain_index > 0
     order by tail.chain_index desc
     limit 1) step on true
 where blocker.job_id = any(:ids::text[]) and coalesce(step.status, first.status) <> 'completed'
 group by blocker.job_id
