-- get_history: a job's past attempts, oldest first.
select attempt.number, attempt.worker, attempt.started_at, attempt.ended_at, attempt.outcome, attempt.error, attempt.next_at
  from holdfast.attempt
 where attempt.job_id = :job_id::text
 order by attempt.seq
