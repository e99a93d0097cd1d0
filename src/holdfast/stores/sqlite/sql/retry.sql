-- retry: a failed or cancelled job begins anew.
update holdfast_job
   set status = :status, attempt = 0, scheduled_at = :now, finished_at = null, expires_at = null, token = null
 where seq = :seq and status in ('failed', 'cancelled')
