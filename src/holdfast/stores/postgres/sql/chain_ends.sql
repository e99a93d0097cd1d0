-- unblock: decrement the open blockers of all jobs that name these chains. Jobs without open blockers become pending.
-- The rows of the dependents are locked: if two chains end at the same time, the second transaction sees the count that
-- the first one wrote. For a job that waits for a failure or an end, only the count changes here, and only while the job
-- is blocked.
with counted as materialized (
    select blocker.job_id, count(*)::int as done, count(distinct blocker.chain_id)::int as ended,
           array_agg(blocker.chain_id) as chain_ids
      from holdfast.blocker
     where blocker.chain_id = any(:chain_ids::text[])
     group by blocker.job_id
)
update holdfast.job
   set open_blockers = job.open_blockers
                       - case when job.on_blocker_failure in ('wait', 'fail') then counted.done else counted.ended end,
       status = case when job.status = 'blocked' and job.open_blockers = counted.done
                          and job.on_blocker_failure in ('wait', 'fail') then 'pending' else job.status end,
       scheduled_at = case when job.status = 'blocked' and job.open_blockers = counted.done
                                and job.on_blocker_failure in ('wait', 'fail')
                           then greatest(job.scheduled_at, :now::bigint) else job.scheduled_at end
  from counted
 where job.id = counted.job_id and (job.status = 'blocked' or job.on_blocker_failure in ('wait', 'fail'))
returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker, job.status = 'pending' and job.open_blockers = 0,
       counted.chain_ids, job.on_blocker_failure, job.open_blockers

-- broken_dependents: blocked jobs that change if this chain fails or is cancelled.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
select job.seq, job.id, job.on_blocker_failure
  from holdfast.blocker
  join holdfast.job on job.id = blocker.job_id
 where blocker.chain_id = :chain_id::text and job.status || '' = 'blocked' and job.on_blocker_failure <> 'wait'
 order by job.seq

-- fail_blocked: fail locked blocked jobs because of a blocker.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
with failed as (
    update holdfast.job
       set status = 'failed', error = :error::bytea, finished_at = :now::bigint, expires_at = :now::bigint + job.keep,
           fingerprint = 'BlockerFailed:' || job.type
     where job.seq = any(:seqs::bigint[]) and job.status || '' = 'blocked'
    returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker, job.awaited, job.fingerprint,
              job.details is not null as detailed
), counters as (
    insert into holdfast.counter_change (type, minute, kind, number, fingerprint, summary, example, at)
    select failed.type, :now::bigint / 60000000, 'failed', count(*), failed.fingerprint,
           '["BlockerFailed","a blocker did not complete",""]',
           (array_agg(failed.id order by failed.seq desc))[1], :now::bigint
      from failed
     group by failed.type, failed.fingerprint
)
select failed.seq, failed.id, failed.chain_id, failed.type, failed.attempt, failed.worker, failed.awaited,
       failed.detailed
  from failed

-- cancel_waiting: cancel locked blocked jobs that wait for a failure, because their blockers completed.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
with cancelled as (
    update holdfast.job
       set status = 'cancelled', error = :error::bytea, open_blockers = 0, finished_at = :now::bigint,
           expires_at = :now::bigint + job.keep
     where job.seq = any(:seqs::bigint[]) and job.status || '' = 'blocked'
    returning job.seq, job.id, job.chain_id, job.type, job.awaited
), counters as (
    insert into holdfast.counter_change (type, minute, kind, number)
    select cancelled.type, :now::bigint / 60000000, 'cancelled', count(*) from cancelled group by cancelled.type
)
select cancelled.seq, cancelled.id, cancelled.chain_id, cancelled.type, cancelled.awaited from cancelled

-- unblock_waiting: make locked blocked jobs pending, because the failure or the ends that they waited for have happened.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
update holdfast.job
   set status = 'pending', open_blockers = 0, scheduled_at = greatest(job.scheduled_at, :now::bigint)
 where job.seq = any(:seqs::bigint[]) and job.status || '' = 'blocked'
returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker

-- count_ends: decrement the open blockers of locked blocked jobs that wait for ends.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
update holdfast.job set open_blockers = job.open_blockers - 1
 where job.seq = any(:seqs::bigint[]) and job.status || '' = 'blocked'
returning job.seq, job.id, job.open_blockers

-- set_open_blockers: write how many blockers a locked job waits for.
update holdfast.job set open_blockers = :open_blockers::int where job.seq = :seq::bigint
