-- find_jobs: the jobs with these ids, and with `blockers` the first jobs of the chains that they name as blockers.
-- The first job of such a chain is enough: a transaction that deletes a chain locks all its jobs.
select job.seq, job.id, job.chain_id, job.type, job.status, job.attempt, job.worker, job.open_blockers, job.started_at,
       job.on_blocker_failure, job.blockers
  from holdfast.job
 where job.id = any(:ids::text[] || array(
    select blocker.chain_id from holdfast.blocker where :blockers::boolean and blocker.job_id = any(:ids::text[])))
 order by job.seq

-- records: the jobs with these seqs.
select record.* from holdfast.record where record.seq = any(:seqs::bigint[]) order by record.seq
