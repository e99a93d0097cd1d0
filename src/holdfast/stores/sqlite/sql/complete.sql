-- complete: a job is finished from outside, and its chain unless another job follows.
update holdfast_job
   set status = 'completed', output = :output, error = null, worker = null, token = null, leased_until = null,
       renewed_at = null, mismatches = null,
       mismatched_at = null, finished_at = :now, expires_at = case when :ends then :now + keep end
 where seq = :seq
