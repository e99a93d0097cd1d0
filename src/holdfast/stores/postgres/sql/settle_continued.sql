-- settle_continued: attempts handed over to the next jobs of their chains, which wait for nothing.
-- skip locked: as in settle_completed.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as anybody
), asked as materialized (
    select *
      from unnest(:ids::text[], :tokens::text[], :keeps::bigint[], :next_ids::text[], :next_types::text[],
                  :next_inputs::bytea[], :next_indexes::int[], :next_priorities::bigint[], :next_delays::bigint[],
                  :next_ats::bigint[], :next_max_attempts::bigint[], :next_timeouts::bigint[], :next_keeps::bigint[],
                  :next_keys::text[], :next_traces::text[], :next_on_blocker_failures::text[])
           asked (id, token, keep, next_id, next_type, next_input, next_index, next_priority, next_delay, next_at,
                  next_max_attempts, next_timeout, next_keep, next_key, next_trace, next_on_blocker_failure)
), held as materialized (
    select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type
      from holdfast.job
     where job.id = any(:ids::text[])
     order by job.seq
       for update skip locked
), good as materialized (
    select held.seq, held.awaited, held.chain_id, asked.*
      from held join asked on asked.id = held.id and asked.token = held.token
     where held.status = 'running'
), continued as (
    insert into holdfast.job (id, type, chain_id, chain_index, status, priority, max_attempts, key, created_at,
                              scheduled_at, timeout, keep, trace, awaited, on_blocker_failure, input)
    select good.next_id, good.next_type, good.chain_id, good.next_index, 'pending', good.next_priority,
           good.next_max_attempts, good.next_key, clock.now,
           greatest(clock.now, coalesce(good.next_at, clock.now + good.next_delay)), good.next_timeout, good.next_keep,
           good.next_trace, good.awaited, good.next_on_blocker_failure, good.next_input
      from good, clock
     order by good.seq
    returning seq, id, chain_id, type
), counted as (
    insert into holdfast.tally (type, jobs) select continued.type, count(*) from continued group by continued.type
), completed as (
    update holdfast.job
       set status = 'completed', output = null, error = null, leased_until = null, renewed_at = null,
           mismatches = null, mismatched_at = null,
           finished_at = clock.now, keep = coalesce(asked.keep, job.keep)
      from asked, clock
     where job.seq = any(array(select good.seq from good)) and asked.id = job.id
    returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
    select clock.now, happened.kind, happened.id, happened.chain_id, happened.type, happened.attempt, happened.worker
      from clock, listening,
           (select 'created' as kind, id, chain_id, type, 0 as attempt, null as worker, 0 as step from continued
            union all
            select 'completed', id, chain_id, type, attempt, worker, 1 from completed) happened
     where listening.anybody
     order by happened.chain_id, happened.step
)
select held.id, held.status, held.token, held.awaited, held.chain_id, held.type, listening.anybody from held, listening
