-- insert_jobs: new jobs, in order, and the chains that they wait for; one row tells of all.
-- A list that would hold nothing but defaults is sent empty; unnest fills it up with nulls.
-- cardinality: a one-time filter, so that jobs that wait for nothing do not pay for the join.
-- An id that exists already is passed over: the same start was sent before.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as anybody
), created as (
    insert into holdfast.job (id, type, chain_id, chain_index, status, priority, max_attempts, key, created_at,
                              scheduled_at, timeout, keep, trace, blockers, open_blockers, awaited,
                              on_blocker_failure, input)
    select new.id, new.type, coalesce(new.chain_id, new.id), coalesce(new.chain_index, 0),
           case when new.open_blockers > 0 then 'blocked' else 'pending' end, coalesce(new.priority, 0),
           new.max_attempts, new.key, clock.now, greatest(clock.now, coalesce(new.at, clock.now + coalesce(new.delay, 0))),
           new.timeout, new.keep, new.trace, coalesce(new.blockers, 0), coalesce(new.open_blockers, 0),
           coalesce(new.awaited, false), coalesce(new.on_blocker_failure, 'wait'), new.input
      from clock, unnest(:ids::text[], :types::text[], :inputs::bytea[], :chain_ids::text[], :chain_indexes::int[],
                         :priorities::bigint[], :delays::bigint[], :ats::bigint[], :max_attempts::bigint[],
                         :timeouts::bigint[], :keeps::bigint[], :keys::text[], :traces::text[], :blockers::int[],
                         :open_blockers::int[], :awaited::boolean[], :on_blocker_failures::text[]) with ordinality
           new (id, type, input, chain_id, chain_index, priority, delay, at, max_attempts, timeout, keep, key, trace,
                blockers, open_blockers, awaited, on_blocker_failure, place)
     order by new.place
        on conflict (id) do nothing
    returning seq, id, chain_id, type
), named as (
    insert into holdfast.blocker (job_id, position, chain_id)
    select created.id, named.position, named.chain_id
      from unnest(:blocked_ids::text[], :positions::int[], :blocker_ids::text[]) named (job_id, position, chain_id)
      join created on created.id = named.job_id
     where cardinality(:blocked_ids::text[]) > 0
), counted as (
    insert into holdfast.tally (type, jobs) select created.type, count(*) from created group by created.type
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt)
    select clock.now, 'created', created.id, created.chain_id, created.type, 0
      from created, clock, listening
     where listening.anybody
     order by created.seq
)
select array(select created.seq from created order by created.seq), clock.now, listening.anybody
  from clock cross join listening
