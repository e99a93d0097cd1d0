-- get_waiting: the chains whose current job is blocked, and the chains that this job names, oldest job first.
select waiting.chain_id,
       array(select blocker.chain_id from holdfast.blocker where blocker.job_id = waiting.id order by blocker.position)
  from (select job.seq, job.id, job.chain_id
          from holdfast.job
         where job.status = 'blocked'
         order by job.seq
         limit :limit::int) waiting
 order by waiting.seq

-- waits_reached: each waiting chain that can be reached from these chains, and the chains that its blocked job names.
-- A blocked job is the last of its chain. The limit bounds the number of chains, nearest first.
with recursive reached (chain_id) as (
    select unnest(:ids::text[]) collate "C"
    union
    select blocker.chain_id
      from reached
     cross join lateral (
        (select job.id, job.status
           from holdfast.job
          where job.chain_id = reached.chain_id and job.chain_index > 0
          order by job.chain_index desc
          limit 1)
        union all
        (select job.id, job.status from holdfast.job where job.id = reached.chain_id and job.chain_index = 0)
        limit 1) last
      join holdfast.blocker on blocker.job_id = last.id
     where last.status = 'blocked'
), nearest as materialized (
    select reached.chain_id from reached limit :most::int
)
select nearest.chain_id, blocker.chain_id
  from nearest
 cross join lateral (
    (select job.id, job.status
       from holdfast.job
      where job.chain_id = nearest.chain_id and job.chain_index > 0
      order by job.chain_index desc
      limit 1)
    union all
    (select job.id, job.status from holdfast.job where job.id = nearest.chain_id and job.chain_index = 0)
    limit 1) last
  join holdfast.blocker on blocker.job_id = last.id
 where last.status = 'blocked'
 order by blocker.job_id, blocker.position

-- named_by: the chains that these jobs name as blockers, in order.
select blocker.job_id, blocker.chain_id
  from holdfast.blocker
 where blocker.job_id = any(:ids::text[])
 order by blocker.job_id, blocker.position
