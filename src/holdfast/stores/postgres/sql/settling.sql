-- settling: claimed jobs, and those that the end of their chains touches.
-- completing: all that name the chains. failing: those that fail with them, and those that fail with theirs, and so on.
with recursive ended (chain_id, job_id) as (
    select claimed.chain_id, claimed.id from holdfast.job claimed where claimed.id = any(:ids::text[])
    union
    select dependent.chain_id, dependent.id
      from ended
      join holdfast.blocker on blocker.chain_id = ended.chain_id
      join holdfast.job dependent on dependent.id = blocker.job_id
     where :failing::boolean and dependent.status = 'blocked' and dependent.on_blocker_failure = 'fail'
)
select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type
  from holdfast.job
 where job.id = any(array(
    select ended.job_id from ended
    union
    select blocker.job_id
      from holdfast.job claimed join holdfast.blocker on blocker.chain_id = claimed.chain_id
     where :completing::boolean and claimed.id = any(:ids::text[])))
