-- settle_completed: an attempt completed its job, and its chain unless another job follows.
-- The worker stays, since no other row tells who did it; the token, so that a settlement sent again is known.
update holdfast_job
   set status = 'completed', output = :output, error = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       keep = coalesce(:keep, keep),
       finished_at = :now, expires_at = case when :ends then :now + coalesce(:keep, keep) end
 where seq = :seq and status = 'running' and token = :token
