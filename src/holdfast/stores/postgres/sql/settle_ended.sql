-- settle_ended: attempts that did not complete their jobs; some will be tried again, some are over.
-- A chain that is over and waited for is left alone unless all are asked for, as in settle_completed; so is skip locked.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as anybody
), asked as materialized (
    select *, asked.outcome = 'released' as released, asked.outcome = 'mismatched' as mismatched
      from unnest(:ids::text[], :tokens::text[], :statuses::text[], :outcomes::text[], :errors::bytea[],
                  :delays::bigint[], :ats::bigint[], :keeps::bigint[])
           asked (id, token, status, outcome, error, delay, at, keep)
), held as materialized (
    select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type, job.attempt, job.worker, job.started_at,
           job.scheduled_at
      from holdfast.job
     where job.id = any(:ids::text[])
     order by job.seq
       for update skip locked
), good as materialized (
    select held.seq, held.id, held.attempt, held.worker, held.started_at, asked.outcome, asked.status, asked.released,
           asked.mismatched, asked.keep, case when asked.released then null else asked.error end as error,
           case when asked.released then held.scheduled_at
                when asked.status = 'pending' then greatest(clock.now, coalesce(asked.at, clock.now + asked.delay))
           end as next_at
      from clock, held join asked on asked.id = held.id and asked.token = held.token
     where held.status = 'running' and (:all::boolean or not held.awaited or asked.status = 'pending')
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
           keep = coalesce(good.keep, job.keep),
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
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt)
    select clock.now, ended.kind, ended.id, ended.chain_id, ended.type, ended.attempt
      from ended, clock, listening
     where listening.anybody
     order by ended.seq
)
select held.id, held.status, held.token, held.awaited, held.chain_id, held.type, listening.anybody from held, listening
