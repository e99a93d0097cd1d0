-- lock_records: the jobs with these ids, held until the transaction ends.
select job.seq, job.id, job.chain_id, job.type, job.status, job.attempt, job.worker, job.open_blockers, job.scheduled_at
  from holdfast.job
 where job.id = any(:ids::text[])
 order by job.seq
   for update
