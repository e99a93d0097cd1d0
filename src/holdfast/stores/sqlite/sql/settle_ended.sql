-- settle_ended: an attempt ended its job for good, without completing it.
update holdfast_job
   set status = :status, attempt = attempt - :given_back, error = :error, worker = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       keep = coalesce(:keep, keep),
       finished_at = :now, expires_at = :now + coalesce(:keep, keep)
 where seq = :seq and status = 'running' and token = :token
