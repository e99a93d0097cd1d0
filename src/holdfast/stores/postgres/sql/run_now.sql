-- run_now: make locked pending jobs due. Returns those that were due later.
update holdfast.job
   set scheduled_at = :now::bigint
 where job.seq = any(:seqs::bigint[]) and job.scheduled_at > :now::bigint
returning job.id, job.chain_id
