-- get_history: a job's past attempts, oldest first.
select number, worker, started_at, ended_at, outcome, error, next_at
  from holdfast_attempt where job_id = :job_id order by seq
