-- settle_ended: an attempt ended its job for good, without completing it.
update holdfast_job
   set status = :status, error = :error, worker = null, leased_until = null, renewed_at = null,
       keep = coalesce(:keep, keep),
       finished_at = :now, expires_at = :now + coalesce(:keep, keep)
 where seq = :seq and status = 'running' and token = :token
