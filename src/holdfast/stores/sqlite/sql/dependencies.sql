-- dependencies: find which chains wait for which chains.

-- get_waiting: the chains whose current job is blocked, and the blockers of that job, oldest job first.
select job.chain_id, blocker.chain_id
  from (select seq, id, chain_id from holdfast_job where status = 'blocked' order by seq limit :limit) job
  cross join holdfast_blocker blocker on blocker.job_id = job.id
 order by job.seq, blocker.position

-- waits_reached: starting at these chains, each chain that waits, and the blockers of its blocked job.
-- A blocked job is the last of its chain. The limit restricts the number of chains; the nearest come first.
with recursive reached (chain_id) as (
    select value from json_each(:ids)
    union
    select blocker.chain_id
      from reached
      cross join holdfast_job job on job.id = coalesce(
               (select last.id from holdfast_job last
                 where last.chain_id = reached.chain_id and last.chain_index > 0
                 order by last.chain_index desc limit 1),
               reached.chain_id)
      cross join holdfast_blocker blocker on blocker.job_id = job.id
     where job.status = 'blocked'
     limit :most
)
select reached.chain_id, blocker.chain_id
  from reached
  cross join holdfast_job job on job.id = coalesce(
           (select last.id from holdfast_job last
             where last.chain_id = reached.chain_id and last.chain_index > 0
             order by last.chain_index desc limit 1),
           reached.chain_id)
  cross join holdfast_blocker blocker on blocker.job_id = job.id
 where job.status = 'blocked'
 order by blocker.job_id, blocker.position
