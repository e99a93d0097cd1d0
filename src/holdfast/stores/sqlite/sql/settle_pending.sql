-- settle_pending: an attempt ended, another will follow.
update holdfast_job
   set status = 'pending', error = :error, worker = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       keep = coalesce(:keep, keep),
       scheduled_at = :scheduled_at
 where seq = :seq and status = 'running' and token = :token
