-- settle_claims: the jobs of these claims as they stand, each with whether other jobs wait for its chain.
select job.id, job.seq, job.status, job.token, job.type, job.chain_id, job.attempt, job.worker, job.started_at,
       job.scheduled_at, exists (select 1 from holdfast_blocker blocker where blocker.chain_id = job.chain_id)
  from holdfast_job job
 where job.id in (select value from json_each(:ids))
