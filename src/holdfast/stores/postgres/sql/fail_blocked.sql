-- fail_blocked: blocked jobs fail with a chain they waited for. The rows are locked.
update holdfast.job
   set status = 'failed', error = :error::bytea, finished_at = :now::bigint, expires_at = :now::bigint + job.keep
 where job.seq = any(:seqs::bigint[]) and job.status = 'blocked'
returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker, job.awaited
