-- reach: the jobs that the end of these chains touches: all that name them as blockers.
-- failing: only those that fail with them, but then those that fail with these in turn, too.
with recursive ended (chain_id) as (
    select unnest(:chain_ids::text[]) collate "C"
    union
    select dependent.chain_id
      from ended
      join holdfast.blocker on blocker.chain_id = ended.chain_id
      join holdfast.job dependent on dependent.id = blocker.job_id
     where :failing::boolean and dependent.status = 'blocked' and dependent.on_blocker_failure = 'fail'
)
select distinct job.seq
  from ended
  join holdfast.blocker on blocker.chain_id = ended.chain_id
  join holdfast.job on job.id = blocker.job_id
 where not :failing::boolean or job.status = 'blocked' and job.on_blocker_failure = 'fail'
