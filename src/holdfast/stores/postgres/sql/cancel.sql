-- cancel: cancel locked jobs. The attempts of running jobs are kept in the history.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
with past as (
    insert into holdfast.attempt (job_id, number, worker, started_at, ended_at, outcome, error)
    select job.id, job.attempt, job.worker, job.started_at, :now::bigint, 'cancelled', :reason::bytea
      from holdfast.job
     where job.seq = any(:seqs::bigint[]) and job.status || '' = 'running'
     order by job.seq
), cancelled as (
    update holdfast.job
       set status = 'cancelled', error = :reason::bytea, worker = null, token = null, leased_until = null,
           renewed_at = null, mismatches = null,
           mismatched_at = null, finished_at = :now::bigint, expires_at = :now::bigint + job.keep
     where job.seq = any(:seqs::bigint[])
    returning job.seq, job.id, job.chain_id, job.type, job.attempt
), counters as (
    insert into holdfast.counter_change (type, minute, kind, number)
    select cancelled.type, :now::bigint / 60000000, 'cancelled', count(*) from cancelled group by cancelled.type
)
select cancelled.id, cancelled.chain_id, cancelled.type, cancelled.attempt from cancelled order by cancelled.seq
