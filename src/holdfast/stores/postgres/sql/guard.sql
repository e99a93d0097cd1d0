-- guard: lock the job of a valid claim until the transaction ends. No row if the claim is lost.
-- key share: renewals continue, every other change waits.
-- application_name identifies the session of an attempt, so that a reaper can terminate it if the worker is lost.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
select set_config('application_name', holdfast.attempt_name(job.id, job.token), true)
  from holdfast.job
 where job.id = :id::text and job.token = :token::text and job.status || '' = 'running'
   for key share

-- guard_lost: status and token of a job whose claim is lost.
select job.status, job.token from holdfast.job where job.id = :id::text
