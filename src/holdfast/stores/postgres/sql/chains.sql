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

-- reach: the jobs that the end of these chains affects. If the chains complete, these are all jobs that name them as
-- blockers. With `failing`, these are the blocked jobs that do not wait for completions. A job that fails because of a
-- chain, or may be cancelled because a chain completed, ends its own chain.
with recursive ended (chain_id, completed) as (
    select named.chain_id collate "C", not :failing::boolean from unnest(:chain_ids::text[]) named (chain_id)
    union
    select dependent.chain_id, false
      from ended
      join holdfast.blocker on blocker.chain_id = ended.chain_id
      join holdfast.job dependent on dependent.id = blocker.job_id
     where dependent.status = 'blocked'
       and dependent.on_blocker_failure = case when ended.completed then 'when_failed' else 'fail' end
)
select distinct job.seq
  from ended
  join holdfast.blocker on blocker.chain_id = ended.chain_id
  join holdfast.job on job.id = blocker.job_id
 where ended.completed or job.status = 'blocked' and job.on_blocker_failure <> 'wait'
