-- blockers: the chains that a job names, in the order given.
select chain_id from holdfast_blocker where job_id = :job_id order by position

-- dependents: the jobs that wait or waited for a chain, once for each time they name it, oldest first.
select job.seq, job.id, job.type, job.chain_id, job.status, job.open_blockers, job.scheduled_at, job.attempt, job.worker
  from holdfast_blocker blocker
  join holdfast_job job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id
 order by job.seq, blocker.position

-- unblock: count a finished blocker off.
update holdfast_job set status = :status, open_blockers = :open_blockers, scheduled_at = :scheduled_at where seq = :seq

-- broken_dependents: the blocked jobs that asked to fail when this chain does not complete, oldest first.
-- cross join: from the chain's dependents to the blocked ones, never from all that is blocked.
select distinct job.seq, job.id, job.type, job.chain_id, job.attempt, job.worker
  from holdfast_blocker blocker
  cross join holdfast_job job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id and job.status = 'blocked' and job.on_blocker_failure = 'fail'
 order by job.seq

-- fail_blocked: a blocked job fails with its blocker.
update holdfast_job
   set status = 'failed', error = :error, finished_at = :now, expires_at = :now + keep
 where id = :id and status = 'blocked'
