-- fail_blocked: a blocked job fails with its blocker.
update holdfast_job
   set status = 'failed', error = :error, finished_at = :now, expires_at = :now + keep
 where id = :id and status = 'blocked'
