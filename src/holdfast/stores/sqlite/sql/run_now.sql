-- run_now: a pending job is due at once.
update holdfast_job set scheduled_at = min(scheduled_at, :now) where seq = :seq and status = 'pending'
