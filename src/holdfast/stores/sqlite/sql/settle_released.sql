-- settle_released: an attempt is given back as if it had not begun.
update holdfast_job
   set status = 'pending', attempt = attempt - 1, worker = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       keep = coalesce(:keep, keep)
 where seq = :seq and status = 'running' and token = :token
