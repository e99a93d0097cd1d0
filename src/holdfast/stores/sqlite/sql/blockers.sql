-- blockers: the chains that a job waits for, in the order given.
select chain_id from holdfast_blocker where job_id = :job_id order by position

-- blocker_chains: the chains that these jobs wait for, in the order given, each with the id of the job.
-- The columns that differ between completed chains of one job, and last whether the chain has other values in any other column.
-- A job may wait for thousands of chains: see `claim_fresh`.
-- cross join: SQLite must begin with the jobs, not with all references.
select blocker.job_id, chain.id, chain.seq, chain.type, chain.attempt, chain.max_attempts, chain.input, chain.output,
       chain.worker, chain.token, chain.created_at, chain.scheduled_at, chain.started_at, chain.finished_at, chain.keep,
       chain.key, chain.dedup_for,
       case when chain.status <> 'completed' or chain.chain_index > 0 or chain.priority <> 0 or chain.error is not null
                 or chain.leased_until is not null or chain.renewed_at is not null or chain.progress is not null
                 or chain.progress_note is not null or chain.timeout is not null or chain.details is not null
                 or chain.blockers > 0 or chain.open_blockers <> 0 or chain.on_blocker_failure <> 'wait'
                 or chain.mismatches is not null or chain.mismatched_at is not null
                 or exists (select 1 from holdfast_job next where next.chain_id = chain.id and next.chain_index > 0)
            then 1 end
  from json_each(:job_ids) job
 cross join holdfast_blocker blocker on blocker.job_id = job.value
  join holdfast_job chain on chain.id = blocker.chain_id
 order by blocker.job_id, blocker.position

-- waiting_for: the jobs that wait or waited for each of these chains. A job appears once for each of its references.
-- cross join: SQLite must begin with the chains, not with all references.
select blocker.chain_id, blocker.job_id
  from json_each(:chains) chain
  cross join holdfast_blocker blocker on blocker.chain_id = chain.value

-- dependents: what the end of a blocker may change in these jobs, oldest first.
select seq, id, type, chain_id, status, open_blockers, scheduled_at, attempt, worker, on_blocker_failure, details is not null
  from holdfast_job
 where id in (select value from json_each(:ids))
 order by seq

-- unblock: write the number of open blockers that is left.
update holdfast_job set track = track, status = :status, open_blockers = :open_blockers, scheduled_at = :scheduled_at where seq = :seq

-- broken_dependents: blocked jobs that change because this chain did not complete, oldest first.
-- cross join: SQLite must begin with the dependents of the chain, not with all blocked jobs.
select distinct job.seq, job.id, job.type, job.chain_id, job.status, job.open_blockers, job.scheduled_at, job.attempt,
       job.worker, job.on_blocker_failure, job.details is not null
  from holdfast_blocker blocker
  cross join holdfast_job job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id and job.status = 'blocked' and job.on_blocker_failure <> 'wait'
 order by job.seq

-- cancel_blocked: cancel a blocked job that waits for a failure, because its blockers completed.
update holdfast_job
   set track = track, status = 'cancelled', error = :error, open_blockers = 0, finished_at = :now, expires_at = :now + keep
 where id = :id and status = 'blocked'

-- fail_blocked: fail a blocked job.
update holdfast_job
   set track = track, status = 'failed', error = :error, fingerprint = :fingerprint, finished_at = :now, expires_at = :now + keep
 where id = :id and status = 'blocked'
