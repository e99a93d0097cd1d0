-- attempt_commit: the settlement of an attempt in its own transaction, and the condition of the commit that is sent with it.

-- settle_guarded: complete the job of an attempt, in its transaction, which has locked the job. No row if it was not completed.
-- The job is found in the update itself, which waits if another transaction locks the row, for example a renewal. It holds
-- no other lock meanwhile, except those of the application and of the guard. Then it checks the new row version again.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), completed as (
    update holdfast.job
       set status = 'completed', output = :output::bytea, error = null, leased_until = null, renewed_at = null,
           mismatches = null, mismatched_at = null, started_at = job.started_at + coalesce(:ahead::bigint, 0),
           finished_at = clock.now, keep = coalesce(:keep::bigint, job.keep),
           expires_at = clock.now + coalesce(:keep::bigint, job.keep)
      from clock
     where job.id = :id::text and job.token = :token::text and job.status || '' = 'running' and not job.awaited
    returning job.id, job.token, job.chain_id, job.type, job.attempt, job.worker, job.scheduled_at, job.started_at
), counters as (
    insert into holdfast.counter_change (type, minute, kind, number, waits, runs, wait_total, run_total)
    select completed.type, clock.now / 60000000, 'completed', 1,
           holdfast.bucket(completed.started_at - completed.scheduled_at),
           holdfast.bucket(clock.now - completed.started_at),
           greatest(0, completed.started_at - completed.scheduled_at), greatest(0, clock.now - completed.started_at)
      from completed, clock
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
    select clock.now, 'completed', completed.id, completed.chain_id, completed.type, completed.attempt, completed.worker
      from completed, clock, listening
     where listening.present
)
select completed.id, 'running', completed.token, false, completed.chain_id, completed.type, listening.present
  from completed cross join listening

-- settle_commits: the condition of a commit. It fails unless this is the transaction of the attempt and the job is completed.
select 1 / (coalesce(txid_current_if_assigned() = :transaction::bigint, false) and exists (
                select from holdfast.job
                 where job.id = :id::text and job.token = :token::text and job.status || '' = 'completed'))::int
