-- await: some job names the chains of these jobs as its blockers. The rows are locked.
-- Written to, whether it is news or not: a transaction with an older snapshot, which does not see the job that waits,
-- fails when it would end or delete such a chain, instead of leaving that job behind.
update holdfast.job set awaited = true where job.seq = any(:seqs::bigint[])
