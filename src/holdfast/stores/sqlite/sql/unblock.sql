-- unblock: count a finished blocker off.
update holdfast_job set status = :status, open_blockers = :open_blockers, scheduled_at = :scheduled_at where seq = :seq
