-- save_logs: add the logs of running attempts to the histories of their jobs, if their claims are valid.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
insert into holdfast.attempt (job_id, number, worker, started_at, ended_at, outcome, error)
select job.id, job.attempt, job.worker, job.started_at, holdfast.clock(:now::bigint), :outcome::text, given.log
  from unnest(:ids::text[], :tokens::text[], :logs::bytea[]) given (id, token, log)
  join holdfast.job on job.id = given.id and job.token = given.token and job.status || '' = 'running'
