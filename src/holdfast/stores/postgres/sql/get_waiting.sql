-- get_waiting: the chains whose current job is blocked, and the chains that this job names, the oldest job first.
select waiting.chain_id,
       array(select blocker.chain_id from holdfast.blocker where blocker.job_id = waiting.id order by blocker.position)
  from (select job.seq, job.id, job.chain_id
          from holdfast.job
         where job.status = 'blocked'
         order by job.seq
         limit :limit::int) waiting
 order by waiting.seq
