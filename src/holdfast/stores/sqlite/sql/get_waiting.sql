-- get_waiting: the chains whose current job is blocked, and the chains that this job names, the oldest job first.
select job.chain_id, blocker.chain_id
  from (select seq, id, chain_id from holdfast_job where status = 'blocked' order by seq limit :limit) job
  cross join holdfast_blocker blocker on blocker.job_id = job.id
 order by job.seq, blocker.position
