-- retry: locked jobs begin anew.
update holdfast.job
   set status = case when job.open_blockers > 0 then 'blocked' else 'pending' end, attempt = 0,
       scheduled_at = :now::bigint, finished_at = null, expires_at = null, token = null
 where job.seq = any(:seqs::bigint[])
