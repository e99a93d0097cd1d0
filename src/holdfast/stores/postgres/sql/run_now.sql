-- run_now: locked pending jobs are due at once.
update holdfast.job set scheduled_at = least(job.scheduled_at, :now::bigint) where job.seq = any(:seqs::bigint[])
