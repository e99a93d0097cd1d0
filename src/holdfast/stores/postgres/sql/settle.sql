-- settle_completed: complete the jobs of attempts, and their chains unless another job follows.
-- A job of an awaited chain is skipped unless `all` is set: its dependents must change in the same transaction. It is not
-- locked either: the transaction of an attempt may wait long for the dependents, and renewals must succeed meanwhile.
-- skip locked: a locked job is not waited for while others are locked. Skipped jobs are missing in the result.
-- `good` is a separate CTE: with a condition on the status in the update, the planner would use the index of running jobs.
-- The worker is kept, because no other row stores it. The token is kept, so that a repeated settlement is recognised.
-- `freed` writes the change of the lanes whose permits are in the rows of these jobs. `left_orders` deletes the places of
-- these jobs. If the chain continues, or keeps an order of an earlier job, the trigger of lanes makes both changes instead.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), asked as materialized (
    select * from unnest(:ids::text[], :tokens::text[], :outputs::bytea[], :keeps::bigint[], :aheads::bigint[])
           asked (id, token, output, keep, ahead)
), held as materialized (
    select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type, job.scheduled_at, job.started_at,
           case when :ends::boolean and job.in_order is not true then job.lane end as lane
      from holdfast.job
     where job.id = any(:ids::text[]) and (:all::boolean or not job.awaited)
     order by job.seq
       for update skip locked
), good as materialized (
    select held.seq, held.chain_id, held.type, held.scheduled_at, held.started_at + coalesce(asked.ahead, 0) as started_at,
           held.lane
      from held join asked on asked.id = held.id and asked.token = held.token
     where held.status = 'running'
), completed as (
    update holdfast.job
       set status = 'completed', output = asked.output, error = null, leased_until = null, renewed_at = null,
           mismatches = null, mismatched_at = null,
           started_at = job.started_at + coalesce(asked.ahead, 0),
           finished_at = clock.now, keep = coalesce(asked.keep, job.keep),
           expires_at = case when :ends::boolean then clock.now + coalesce(asked.keep, job.keep) end,
           lane = case when job.in_order or not :ends::boolean then job.lane end
      from asked, clock
     where job.seq = any(array(select good.seq from good)) and asked.id = job.id
    returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker
), freed as (
    insert into holdfast.lane_change (lanes, size)
    select array_agg(good.lane), count(*) from good where good.lane is not null having count(*) > 0
), left_orders as (
    delete from holdfast.place
     where place.chain_id = any(array(
        select good.chain_id from good
         where good.lane is not null and split_part(good.lane, chr(31), 1) in (select limits.name from holdfast.limits where limits.kind = 'order')))
), counters as (
    insert into holdfast.counter_change (type, minute, kind, number, waits, runs, wait_total, run_total)
    select good.type, clock.now / 60000000, 'completed', count(*),
           string_agg(holdfast.bucket(good.started_at - good.scheduled_at), ''),
           string_agg(holdfast.bucket(clock.now - good.started_at), ''),
           sum(greatest(0, good.started_at - good.scheduled_at)), sum(greatest(0, clock.now - good.started_at))
      from good, clock
     group by good.type, clock.now
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
    select clock.now, 'completed', completed.id, completed.chain_id, completed.type, completed.attempt, completed.worker
      from completed, clock, listening
     where listening.present
     order by completed.seq
)
select held.id, held.status, held.token, held.awaited, held.chain_id, held.type, listening.present
  from held cross join listening

-- settle_completed_one: the same for the attempt of one job, whose chain ends. A job of an awaited chain is skipped.
-- Without array parameters the server expects one row, also in a generic plan. So it keeps the generic plan even in
-- sessions that the application uses. A statement with arrays would be planned each time, which takes longer than its
-- execution.
-- The lane is not changed, so the trigger of lanes releases it.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), held as materialized (
    select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type
      from holdfast.job
     where job.id = :id::text and not job.awaited
       for update skip locked
), completed as (
    update holdfast.job
       set status = 'completed', output = :output::bytea, error = null, leased_until = null, renewed_at = null,
           mismatches = null, mismatched_at = null, started_at = job.started_at + coalesce(:ahead::bigint, 0),
           finished_at = clock.now, keep = coalesce(:keep::bigint, job.keep),
           expires_at = clock.now + coalesce(:keep::bigint, job.keep)
      from held, clock
     where job.seq = held.seq and held.status = 'running' and held.token = :token::text
    returning job.id, job.chain_id, job.type, job.attempt, job.worker, job.scheduled_at, job.started_at
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
select held.id, held.status, held.token, held.awaited, held.chain_id, held.type, listening.present
  from held cross join listening

-- settle_continued: complete the jobs of attempts, and insert the next jobs of their chains, which have no blockers.
-- skip locked: a locked job is not waited for while others are locked. It is missing in the result.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), asked as materialized (
    select *
      from unnest(:ids::text[], :tokens::text[], :keeps::bigint[], :aheads::bigint[], :next_ids::text[], :next_types::text[],
                  :next_inputs::bytea[], :next_indexes::int[], :next_priorities::bigint[], :next_delays::bigint[],
                  :next_ats::bigint[], {options: :next_*::bigint[]}, :next_keys::text[], :next_details::text[],
                  :next_on_blocker_failures::text[])
           asked (id, token, keep, ahead, next_id, next_type, next_input, next_index, next_priority, next_delay, next_at,
                  {options: next_*}, next_key, next_details, next_on_blocker_failure)
), held as materialized (
    select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type, job.scheduled_at, job.started_at
      from holdfast.job
     where job.id = any(:ids::text[])
     order by job.seq
       for update skip locked
), good as materialized (
    select held.seq, held.awaited, held.chain_id, held.type, held.scheduled_at,
           held.started_at + coalesce(asked.ahead, 0) as started_at, asked.*
      from held join asked on asked.id = held.id and asked.token = held.token
     where held.status = 'running'
), continued as (
    insert into holdfast.job (id, type, chain_id, chain_index, status, priority, key, created_at, scheduled_at, {options},
                              details, awaited, on_blocker_failure, input)
    select good.next_id, good.next_type, good.chain_id, good.next_index, 'pending', good.next_priority, good.next_key,
           clock.now, greatest(clock.now, coalesce(good.next_at, clock.now + good.next_delay)), {options: good.next_*},
           good.next_details, good.awaited, good.next_on_blocker_failure, good.next_input
      from good, clock
     order by good.seq
    returning seq, id, chain_id, type
), counted as (
    insert into holdfast.tally (type, jobs, minute)
    select continued.type, count(*), clock.now / 60000000 from continued, clock group by continued.type, clock.now
), completed as (
    update holdfast.job
       set status = 'completed', output = null, error = null, leased_until = null, renewed_at = null,
           mismatches = null, mismatched_at = null,
           started_at = job.started_at + coalesce(asked.ahead, 0),
           finished_at = clock.now, keep = coalesce(asked.keep, job.keep)
      from asked, clock
     where job.seq = any(array(select good.seq from good)) and asked.id = job.id
    returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker
), counters as (
    insert into holdfast.counter_change (type, minute, kind, number, waits, runs, wait_total, run_total)
    select good.type, clock.now / 60000000, 'completed', count(*),
           string_agg(holdfast.bucket(good.started_at - good.scheduled_at), ''),
           string_agg(holdfast.bucket(clock.now - good.started_at), ''),
           sum(greatest(0, good.started_at - good.scheduled_at)), sum(greatest(0, clock.now - good.started_at))
      from good, clock
     group by good.type, clock.now
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
    select clock.now, happened.kind, happened.id, happened.chain_id, happened.type, happened.attempt, happened.worker
      from clock, listening,
           (select 'created' as kind, id, chain_id, type, 0 as attempt, null as worker, 0 as position from continued
            union all
            select 'completed', id, chain_id, type, attempt, worker, 1 from completed) happened
     where listening.present
     order by happened.chain_id, happened.position
)
select held.id, held.status, held.token, held.awaited, held.chain_id, held.type, listening.present from held, listening

-- settle_ended: end attempts that did not complete their jobs. The jobs become pending again, or they are finished.
-- A job that ends an awaited chain is skipped unless `all` is set, and locked jobs are skipped, as in settle_completed.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), asked as materialized (
    select *, asked.outcome = 'released' as released, asked.outcome = 'mismatched' as mismatched
      from unnest(:ids::text[], :tokens::text[], :statuses::text[], :outcomes::text[], :errors::bytea[],
                  :delays::bigint[], :ats::bigint[], :begun::boolean[], :keeps::bigint[], :aheads::bigint[], :fingerprints::text[],
                  :summaries::text[])
           with ordinality asked (id, token, status, outcome, error, delay, at, begun, keep, ahead, fingerprint, summary, place)
), held as materialized (
    select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type, job.attempt, job.worker, job.started_at,
           job.scheduled_at
      from holdfast.job
     where job.id = any(:ids::text[])
       and (:all::boolean or not job.awaited or job.id = any(array(select asked.id from asked where asked.status = 'pending')))
     order by job.seq
       for update skip locked
), good as materialized (
    select held.seq, held.id, held.type, held.attempt, held.worker, held.scheduled_at,
           held.started_at + coalesce(asked.ahead, 0) as started_at, asked.outcome,
           asked.status, asked.released, asked.mismatched, asked.begun, asked.keep, asked.fingerprint, asked.summary, asked.place,
           case when asked.status <> 'pending' then asked.status
                when asked.outcome = 'failed' then 'retried'
                when asked.outcome = 'rescheduled' then 'rescheduled' end as counted, case when asked.released then null else asked.error end as error,
           case when asked.released then held.scheduled_at
                when asked.status = 'pending' then greatest(clock.now, coalesce(asked.at, clock.now + asked.delay))
           end as next_at
      from clock, held join asked on asked.id = held.id and asked.token = held.token
     where held.status = 'running'
), past as (
    insert into holdfast.attempt (job_id, number, worker, started_at, ended_at, outcome, error, next_at)
    select good.id, good.attempt, good.worker, good.started_at, clock.now, good.outcome, good.error, good.next_at
      from good, clock
     order by good.seq
), ended as (
    update holdfast.job
       set status = good.status,
           attempt = case when good.released or good.mismatched then job.attempt - 1 else job.attempt end,
           error = case when good.released then job.error else good.error end,
           fingerprint = case when good.status = 'failed' then good.fingerprint end,
           counted = case when good.released and not good.begun then null else job.counted end,
           keep = coalesce(good.keep, job.keep), started_at = good.started_at,
           scheduled_at = coalesce(good.next_at, job.scheduled_at),
           finished_at = case when good.status <> 'pending' then clock.now end,
           expires_at = case when good.status <> 'pending' then clock.now + coalesce(good.keep, job.keep) end,
           mismatches = case when good.mismatched and good.status = 'pending' then coalesce(job.mismatches, 0) + 1 end,
           mismatched_at = case when good.mismatched and good.status = 'pending'
                                then coalesce(job.mismatched_at, clock.now) end,
           worker = null, leased_until = null, renewed_at = null
      from good, clock
     where job.seq = any(array(select good.seq from good)) and good.seq = job.seq
    returning job.seq, job.id, job.chain_id, job.type, job.attempt,
              case when good.status <> 'pending' then good.status
                   when good.outcome in ('released', 'rescheduled', 'mismatched') then good.outcome
                   else 'retrying' end as kind
), counters as (
    insert into holdfast.counter_change (type, minute, kind, number, waits, runs, wait_total, run_total, fingerprint,
                                         summary, example, at)
    select good.type, clock.now / 60000000, good.counted, count(*),
           string_agg(holdfast.bucket(good.started_at - good.scheduled_at), '') filter (where not good.mismatched),
           string_agg(holdfast.bucket(clock.now - good.started_at), '') filter (where not good.mismatched),
           sum(greatest(0, good.started_at - good.scheduled_at)) filter (where not good.mismatched),
           sum(greatest(0, clock.now - good.started_at)) filter (where not good.mismatched),
           good.fingerprint, max(good.summary), (array_agg(good.id order by good.place desc))[1],
           case when good.fingerprint is not null then clock.now end
      from good, clock
     where good.counted is not null
     group by good.type, clock.now, good.counted, good.fingerprint
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt)
    select clock.now, ended.kind, ended.id, ended.chain_id, ended.type, ended.attempt
      from ended, clock, listening
     where listening.present
     order by ended.seq
)
select held.id, held.status, held.token, held.awaited, held.chain_id, held.type, listening.present from held, listening

-- settle_affected: claimed jobs, and the jobs that the end of their chains affects, as in `reach`.
with recursive ended (chain_id, completed) as (
    select claimed.chain_id, how.completed
      from holdfast.job claimed
      join (values (true, :completing::boolean), (false, :failing::boolean)) how (completed, possible) on how.possible
     where claimed.id = any(:ids::text[])
    union
    select dependent.chain_id, false
      from ended
      join holdfast.blocker on blocker.chain_id = ended.chain_id
      join holdfast.job dependent on dependent.id = blocker.job_id
     where dependent.status = 'blocked'
       and dependent.on_blocker_failure = case when ended.completed then 'when_failed' else 'fail' end
)
select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type
  from holdfast.job
 where job.id = any(array(
    select unnest(:ids::text[])
    union
    select blocker.job_id
      from ended
      join holdfast.blocker on blocker.chain_id = ended.chain_id
      join holdfast.job dependent on dependent.id = blocker.job_id
     where ended.completed or dependent.status = 'blocked' and dependent.on_blocker_failure <> 'wait'))

-- settle_wait: wait for the lock of this job. No row if the job does not exist.
select job.seq from holdfast.job where job.id = :id::text for update
