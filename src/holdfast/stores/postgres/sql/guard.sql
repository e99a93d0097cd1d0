-- guard: no row unless the claim is good; then it stays so until the transaction ends.
-- key share: renewals go on beside it, every other change waits.
-- The name marks the session as an attempt's, so that a reaper can end it if the worker is gone.
select set_config('application_name', holdfast.attempt_name(job.id, job.token), true)
  from holdfast.job
 where job.id = :id::text and job.token = :token::text and job.status = 'running'
   for key share
