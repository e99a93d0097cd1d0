-- lock_settling: hold a claimed job and those that wait for its chain, in the order of seq.
select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type
  from holdfast.job
 where job.id = any(array(
    select :id::text
    union
    select blocker.job_id
      from holdfast.job claimed join holdfast.blocker on blocker.chain_id = claimed.chain_id
     where claimed.id = :id::text))
 order by job.seq
   for update
