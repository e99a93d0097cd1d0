-- await: some job names the chains of these last jobs as its blockers. The rows are locked.
update holdfast.job set awaited = true where job.seq = any(:seqs::bigint[]) and not job.awaited
