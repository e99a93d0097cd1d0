-- reap_failed: a job whose worker is gone has used up its attempts.
update holdfast_job
   set status = 'failed', error = :error, worker = null, token = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       finished_at = :now, expires_at = :now + keep
 where seq = :seq and status = 'running' and token = :token
