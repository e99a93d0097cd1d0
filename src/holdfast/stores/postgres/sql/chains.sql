-- chains: the chains with these ids: the first job of each, and the last job if it is another one.
select first.*, last.*
  from holdfast.record first
  left join lateral (
    select tail.*
      from holdfast.record tail
     where tail.chain_id = first.id and tail.chain_index > 0
     order by tail.chain_index desc
     limit 1) last on true
 where first.id = any(:ids::text[]) and first.chain_index = 0

-- tails: the last job of each of these chains.
select last.chain_id, last.seq, last.id, last.status, last.awaited
  from unnest(:ids::text[]) wanted (id)
 cross join lateral (
    (select job.chain_id, job.seq, job.id, job.status, job.awaited
       from holdfast.job
      where job.chain_id = wanted.id and job.chain_index > 0
      order by job.chain_index desc
      limit 1)
    union all
    (select job.chain_id, job.seq, job.id, job.status, job.awaited
       from holdfast.job
      where job.id = wanted.id and job.chain_index = 0)
    limit 1) last

-- reach: the jobs that the end of these chains affects: all that name them as blockers.
-- failing: only the jobs that fail with them, and those that fail with these in turn.
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

-- unblock: decrement the open blockers of all jobs that name these chains. Jobs without open blockers become pending.
-- The rows of the dependents are locked: if two chains end at once, the second sees the count of the first.
with counted as materialized (
    select blocker.job_id, count(*)::int as done, array_agg(blocker.chain_id) as chain_ids
      from holdfast.blocker
     where blocker.chain_id = any(:chain_ids::text[])
     group by blocker.job_id
)
update holdfast.job
   set open_blockers = job.open_blockers - counted.done,
       status = case when job.status = 'blocked' and job.open_blockers = counted.done then 'pending' else job.status end,
       scheduled_at = case when job.status = 'blocked' and job.open_blockers = counted.done
                           then greatest(job.scheduled_at, :now::bigint) else job.scheduled_at end
  from counted
 where job.id = counted.job_id
returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker, job.status = 'pending' and job.open_blockers = 0,
       counted.chain_ids

-- broken_dependents: blocked jobs that fail if this chain fails.
select job.seq
  from holdfast.blocker
  join holdfast.job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id::text and job.status = 'blocked' and job.on_blocker_failure = 'fail'
 order by job.seq

-- fail_blocked: fail locked blocked jobs because of a blocker.
update holdfast.job
   set status = 'failed', error = :error::bytea, finished_at = :now::bigint, expires_at = :now::bigint + job.keep
 where job.seq = any(:seqs::bigint[]) and job.status = 'blocked'
returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker, job.awaited
