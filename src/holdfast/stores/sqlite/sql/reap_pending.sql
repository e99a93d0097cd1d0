-- reap_pending: a job whose worker is gone may be claimed again at once.
update holdfast_job
   set status = 'pending', error = :error, worker = null, token = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       scheduled_at = :now
 where seq = :seq and status = 'running' and token = :token
