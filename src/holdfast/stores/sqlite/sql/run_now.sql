-- run_now: make a pending job due at once.
update holdfast_job set track = track, scheduled_at = min(scheduled_at, :now) where seq = :seq and status = 'pending'
