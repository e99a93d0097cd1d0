-- cancel: end an unfinished job as cancelled.
update holdfast_job
   set track = track, status = 'cancelled', error = :reason, worker = null, token = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       finished_at = :now, expires_at = :now + keep
 where seq = :seq and status in ('blocked', 'pending', 'running')
