-- settle_mismatched: an attempt ended before it began, since this worker cannot read the input; another will follow.
update holdfast_job
   set status = 'pending', attempt = attempt - 1, error = :error, worker = null, leased_until = null, renewed_at = null,
       keep = coalesce(:keep, keep), scheduled_at = :scheduled_at,
       mismatches = coalesce(mismatches, 0) + 1, mismatched_at = coalesce(mismatched_at, :now)
 where seq = :seq and status = 'running' and token = :token
