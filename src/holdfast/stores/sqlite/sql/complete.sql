-- complete: complete a job without a claim, and its chain unless it continues.
update holdfast_job
   set track = track, status = 'completed', output = :output, error = null, worker = null, token = null, leased_until = null,
       renewed_at = null, mismatches = null,
       mismatched_at = null, finished_at = :now, expires_at = case when :ends then :now + keep end
 where seq = :seq
