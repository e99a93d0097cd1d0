-- broken_dependents: the blocked jobs that asked to fail when this chain does not complete, oldest first.
-- cross join: from the chain's dependents to the blocked ones, never from all that is blocked.
select distinct job.seq, job.id, job.type, job.chain_id, job.attempt, job.worker
  from holdfast_blocker blocker
  cross join holdfast_job job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id and job.status = 'blocked' and job.on_blocker_failure = 'fail'
 order by job.seq
