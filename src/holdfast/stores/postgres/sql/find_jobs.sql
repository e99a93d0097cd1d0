-- find_jobs: the jobs with these ids; on request with the chains they name as blockers.
-- Of such a chain the first job is enough: who deletes a chain holds every job of it.
select job.seq, job.id, job.chain_id, job.type, job.status, job.attempt, job.worker, job.open_blockers, job.started_at
  from holdfast.job
 where job.id = any(:ids::text[] || array(
    select blocker.chain_id from holdfast.blocker where :blockers::boolean and blocker.job_id = any(:ids::text[])))
 order by job.seq
