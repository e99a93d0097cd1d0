-- lock_jobs: hold these rows until the transaction ends. Always in the order of seq, so that nobody waits in a circle.
select job.seq from holdfast.job where job.seq = any(:seqs::bigint[]) order by job.seq for update
