-- retry: make locked jobs pending or blocked, and reset the number of their attempts to 0.
update holdfast.job
   set status = case when job.open_blockers > 0 then 'blocked' else 'pending' end, attempt = 0,
       scheduled_at = :now::bigint, finished_at = null, expires_at = null, token = null,
       counted = null
 where job.seq = any(:seqs::bigint[])

-- retry_keys: the chains of these jobs that were started with a key.
select first.id, first.type, first.key
  from holdfast.job
  join holdfast.job first on first.id = job.chain_id
 where job.id = any(:ids::text[]) and first.key is not null

-- retry_open_blockers: how many of the chains that these jobs name still exist and are not completed.
select blocker.job_id, count(*)
  from holdfast.blocker
  join holdfast.job first on first.id = blocker.chain_id and first.chain_index = 0
  left join lateral (
    select tail.status
      from holdfast.job tail
     where tail.chain_id = first.id and tail.chain_index > 0
     order by tail.chain_index desc
     limit 1) last on true
 where blocker.job_id = any(:ids::text[]) and coalesce(last.status, first.status) <> 'completed'
 group by blocker.job_id
