-- run_now: make locked pending jobs due.
update holdfast.job set scheduled_at = least(job.scheduled_at, :now::bigint) where job.seq = any(:seqs::bigint[])
