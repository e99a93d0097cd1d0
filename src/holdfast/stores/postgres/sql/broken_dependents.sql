-- broken_dependents: blocked jobs that want to fail with this chain.
select job.seq
  from holdfast.blocker
  join holdfast.job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id::text and job.status = 'blocked' and job.on_blocker_failure = 'fail'
 order by job.seq
