-- attempts: the history of a job.

-- insert_attempt: add an attempt that did not complete its job.
insert into holdfast_attempt (job_id, number, worker, started_at, ended_at, outcome, error, next_at)
values (:job_id, :number, :worker, :started_at, :now, :outcome, :error, :next_at)

-- get_history: a job's past attempts, oldest first.
select number, worker, started_at, ended_at, outcome, error, next_at
  from holdfast_attempt where job_id = :job_id order by seq
