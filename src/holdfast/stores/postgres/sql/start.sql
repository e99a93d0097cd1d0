-- insert_job: insert one job without blockers, the first of its chain.
-- The same as insert_jobs without the arrays: for a single job, the setup of the statement takes most of the time. For the
-- same reason a function writes the event: it costs nothing unless it is called.
-- offset 0: the clock is read once.
with created as (
    insert into holdfast.job (id, type, chain_id, status, priority, created_at, scheduled_at, {options}, details,
                              on_blocker_failure, input)
    select :id::text, :type::text, :id::text, 'pending', :priority::bigint, clock.now,
           greatest(clock.now, coalesce(:at::bigint, clock.now + :delay::bigint)), {options: :*::bigint},
           :details::text, :on_blocker_failure::text, :input::bytea
      from (select holdfast.clock(:now::bigint) as now offset 0) clock
        on conflict (id) do nothing
    returning seq, created_at
), counted as (
    insert into holdfast.tally (type, jobs, minute) select :type::text, 1, created.created_at / 60000000 from created
)
select array[created.seq], created.created_at,
       exists (select 1 from holdfast.listener where listener.until > created.created_at)
       and holdfast.record_created(created.created_at, :id::text, :type::text)
  from created

-- insert_similar_jobs: insert jobs without blockers, in order, that differ only in their ids and inputs.
-- The same as insert_jobs with only two arrays: each array costs a function call per row. Returns one row for all jobs.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), created as (
    insert into holdfast.job (id, type, chain_id, status, priority, created_at, scheduled_at, {options}, details,
                              on_blocker_failure, input)
    select new.id, :type::text, new.id, 'pending', :priority::bigint, clock.now,
           greatest(clock.now, coalesce(:at::bigint, clock.now + :delay::bigint)), {options: :*::bigint},
           :details::text, :on_blocker_failure::text, new.input
      from clock, unnest(:ids::text[], :inputs::bytea[]) with ordinality new (id, input, place)
     order by new.place
        on conflict (id) do nothing
    returning seq, id
), counted as (
    insert into holdfast.tally (type, jobs, minute)
    select :type::text, count(*), clock.now / 60000000 from created, clock group by clock.now
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt)
    select clock.now, 'created', created.id, created.id, :type::text, 0
      from created, clock
     where exists (select 1 from holdfast.listener where listener.until > clock.now)
     order by created.seq
)
select array(select created.seq from created order by created.seq), clock.now,
       exists (select 1 from holdfast.listener where listener.until > clock.now)
  from clock

-- insert_jobs: insert jobs, in order, and their blockers. Returns one row for all jobs.
-- An array that would contain only defaults is sent empty; unnest fills it with nulls.
-- The condition on cardinality is a one-time filter: if no job has blockers, the server does not execute the join.
-- An id that exists is skipped: the same start was sent before.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), created as (
    insert into holdfast.job (id, type, chain_id, chain_index, status, priority, key, created_at, scheduled_at, {options},
                              details, blockers, open_blockers, awaited, on_blocker_failure, track, input)
    select new.id, new.type, coalesce(new.chain_id, new.id), coalesce(new.chain_index, 0),
           case when new.open_blockers > 0 then 'blocked' else 'pending' end, coalesce(new.priority, 0), new.key,
           clock.now, greatest(clock.now, coalesce(new.at, clock.now + coalesce(new.delay, 0))), {options: new.*},
           new.details, coalesce(new.blockers, 0), coalesce(new.open_blockers, 0), coalesce(new.awaited, false),
           coalesce(new.on_blocker_failure, 'wait'), new.track, new.input
      from clock, unnest(:ids::text[], :types::text[], :inputs::bytea[], :chain_ids::text[], :chain_indexes::int[],
                         :priorities::bigint[], :delays::bigint[], :ats::bigint[], {options: :*::bigint[]},
                         :keys::text[], :details::text[], :blockers::int[], :open_blockers::int[], :awaited::boolean[],
                         :on_blocker_failures::text[], :tracks::text[]) with ordinality
           new (id, type, input, chain_id, chain_index, priority, delay, at, {options}, key, details, blockers,
                open_blockers, awaited, on_blocker_failure, track, place)
     order by new.place
        on conflict (id) do nothing
    returning seq, id, chain_id, chain_index, type, track, status = 'pending' as pending, details
), entered as (
    -- The tracks that the next claim reads. A trigger records those of jobs that become pending later.
    insert into holdfast.lane_change (tracks, details, size)
    select array_agg(first.track order by first.seq), array_agg(first.details order by first.seq), count(*)
      from (select distinct on (created.track) created.track, created.details, created.seq
              from created
             where created.track is not null and created.pending
             order by created.track, created.seq) first
     where cardinality(:tracks::text[]) > 0
    having count(*) > 0
), named as (
    insert into holdfast.blocker (job_id, position, chain_id)
    select created.id, named.position, named.chain_id
      from unnest(:blocked_ids::text[], :positions::int[], :blocker_ids::text[]) named (job_id, position, chain_id)
      join created on created.id = named.job_id
     where cardinality(:blocked_ids::text[]) > 0
), counted as (
    insert into holdfast.tally (type, jobs, minute)
    select created.type, count(*), clock.now / 60000000 from created, clock group by created.type, clock.now
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt)
    select clock.now, 'created', created.id, created.chain_id, created.type, 0
      from created, clock, listening
     where listening.present
     order by created.seq
)
select array(select created.seq from created
              where created.track is null
                 or holdfast.enter_lanes(created.seq, created.chain_id, created.chain_index, created.details)
              order by created.seq), clock.now, listening.present
  from clock cross join listening

-- await: mark the chains of these locked jobs as awaited: a job names them as its blockers.
-- The rows are updated even if they are already awaited. A transaction with an older snapshot does not see the new
-- dependent. Because of the update it fails when it ends or deletes such a chain, and the dependent is not left blocked.
update holdfast.job set awaited = true where job.seq = any(:seqs::bigint[])
