-- suspend: end attempts that sleep or wait for a message. The jobs become pending until the first of their waits ends.
-- The attempt does not count: the next one has the same number, and a rate that counted the job does not count it again.
-- The waits are stored as open steps, unless the jobs have these steps. A wait for a message is stored, unless the message
-- already has a value: then the job is due now. The insert sees values that were committed after the snapshot of this
-- statement. A sender locks the job, so no value is uncommitted while the job is locked here.
-- Everything is in one statement: a process that stops between two statements would leave the job locked.
-- skip locked: see settle_completed.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), asked as materialized (
    select * from unnest(:ids::text[], :tokens::text[], :aheads::bigint[]) asked (id, token, ahead)
), wait as materialized (
    select *, coalesce(wait.at, clock.now + wait.delay) as wake_at
      from clock,
           unnest(:wait_jobs::text[], :wait_names::text[], :wait_eaches::text[], :wait_kinds::text[], :wait_numbers::int[],
                  :wait_attempts::bigint[], :wait_epochs::int[], :wait_delays::bigint[], :wait_ats::bigint[])
           wait (job_id, name, each, kind, number, attempt, epoch, delay, at)
), held as materialized (
    select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type, job.attempt, job.worker,
           job.started_at as claimed_at
      from holdfast.job
     where job.id = any(:ids::text[])
     order by job.seq
       for update skip locked
), good as materialized (
    select held.*, held.claimed_at + coalesce(asked.ahead, 0) as started_at
      from held join asked on asked.id = held.id and asked.token = held.token
     where held.status = 'running'
), awaited as (
    insert into holdfast.message (chain_id, name, job_id, token)
    select distinct good.chain_id, wait.name, good.id, good.token
      from wait join good on good.id = wait.job_id
     where wait.kind = 'receive'
        on conflict (chain_id, name) do update
       set job_id = excluded.job_id, token = excluded.token
     where message.value is null
    returning message.chain_id, message.name
), timed as materialized (
    select good.*,
           case when exists (select 1 from wait
                              where wait.job_id = good.id and wait.kind = 'receive'
                                and (good.chain_id, wait.name) not in (select awaited.chain_id, awaited.name from awaited))
                then clock.now
                else greatest(clock.now, least(:never::bigint, (select min(wait.wake_at) from wait where wait.job_id = good.id)))
           end as next_at
      from clock, good
), past as (
    insert into holdfast.attempt (job_id, number, worker, started_at, ended_at, outcome, next_at)
    select timed.id, timed.attempt, timed.worker, timed.started_at, clock.now, 'suspended', timed.next_at
      from timed, clock
     order by timed.seq
), opened as (
    insert into holdfast.step (job_id, name, each, kind, number, attempt, epoch, started_at, wake_at)
    select wait.job_id, wait.name, wait.each, wait.kind, wait.number, wait.attempt, wait.epoch, wait.now, wait.wake_at
      from wait join good on good.id = wait.job_id
        on conflict (job_id, name, each) do nothing
), ended as (
    update holdfast.job
       set status = 'pending', attempt = job.attempt - 1, error = null, fingerprint = null, scheduled_at = timed.next_at,
           started_at = timed.started_at,
           mismatches = null, mismatched_at = null, worker = null, leased_until = null, renewed_at = null
      from timed
     where job.seq = any(array(select timed.seq from timed)) and timed.seq = job.seq
    returning job.seq, job.id, job.chain_id, job.type, job.attempt
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt)
    select clock.now, 'suspended', ended.id, ended.chain_id, ended.type, ended.attempt
      from ended, clock, listening
     where listening.present
     order by ended.seq
)
select held.id, held.status, held.token, held.awaited, held.chain_id, held.type, listening.present from held, listening
