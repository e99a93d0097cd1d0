-- keep: a finished chain stays for another while.
update holdfast_job set keep = :keep, expires_at = finished_at + :keep where seq = :seq
