-- reap: return jobs with an expired lease.

-- reap_expired: running jobs of a type whose lease has expired, oldest first.
select * from holdfast_record
 where status = 'running' and type = :type and leased_until <= :now
 order by leased_until, seq
 limit :limit

-- reap_pending: return a job with an expired lease to pending, due at once.
update holdfast_job
   set track = track, status = 'pending', error = :error, worker = null, token = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       scheduled_at = :now
 where seq = :seq and status = 'running' and token = :token

-- reap_failed: fail a job with an expired lease that has no attempts left.
update holdfast_job
   set track = track, status = 'failed', error = :error, fingerprint = :fingerprint, worker = null, token = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       finished_at = :now, expires_at = :now + keep
 where seq = :seq and status = 'running' and token = :token
