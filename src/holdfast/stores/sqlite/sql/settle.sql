-- settle: write the outcomes of attempts.

-- settle_claims: the jobs of these claims as they stand, each with whether other jobs wait for its chain.
select job.id, job.seq, job.status, job.token, job.type, job.chain_id, job.attempt, job.worker, job.started_at,
       job.scheduled_at, exists (select 1 from holdfast_blocker blocker where blocker.chain_id = job.chain_id)
  from holdfast_job job
 where job.id in (select value from json_each(:ids))

-- settle_completed: an attempt completed its job, and its chain unless another job follows.
-- The worker stays, since no other row tells who did it; the token, so that a settlement sent again is known.
update holdfast_job
   set status = 'completed', output = :output, error = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       keep = coalesce(:keep, keep),
       finished_at = :now, expires_at = case when :ends then :now + coalesce(:keep, keep) end
 where seq = :seq and status = 'running' and token = :token

-- settle_pending: an attempt ended, another will follow.
update holdfast_job
   set status = 'pending', error = :error, worker = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       keep = coalesce(:keep, keep),
       scheduled_at = :scheduled_at
 where seq = :seq and status = 'running' and token = :token

-- settle_released: an attempt is given back as if it had not begun.
update holdfast_job
   set status = 'pending', attempt = attempt - 1, worker = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       keep = coalesce(:keep, keep)
 where seq = :seq and status = 'running' and token = :token

-- settle_mismatched: an attempt ended before it began, since this worker cannot read the input; another will follow.
update holdfast_job
   set status = 'pending', attempt = attempt - 1, error = :error, worker = null, leased_until = null, renewed_at = null,
       keep = coalesce(:keep, keep), scheduled_at = :scheduled_at,
       mismatches = coalesce(mismatches, 0) + 1, mismatched_at = coalesce(mismatched_at, :now)
 where seq = :seq and status = 'running' and token = :token

-- settle_ended: an attempt ended its job for good, without completing it.
update holdfast_job
   set status = :status, attempt = attempt - :given_back, error = :error, worker = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       keep = coalesce(:keep, keep),
       finished_at = :now, expires_at = :now + coalesce(:keep, keep)
 where seq = :seq and status = 'running' and token = :token
