-- save_logs: add the log of a running attempt to the history of its job, if the claim is valid.
insert into holdfast_attempt (job_id, number, worker, started_at, ended_at, outcome, error)
select id, attempt, worker, started_at, :now, :outcome, :log
  from holdfast_job where id = :id and status = 'running' and token = :token
