-- listen: record events for this listener until its lease ends. Deletes expired listeners and old events.
-- The listener's own row is written first, and locked rows of others are skipped, so two listeners do not block each
-- other.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as (
    insert into holdfast.listener (name, until)
    select :listener::text, clock.now + :lease::bigint from clock
        on conflict (name) do update set until = excluded.until
    returning name
), expired as materialized (
    select listener.name
      from holdfast.listener, clock
     where listener.until <= clock.now and listener.name <> all (select listening.name from listening)
       for update of listener skip locked
), removed as (
    delete from holdfast.listener where listener.name = any(array(select expired.name from expired))
), past as materialized (
    select event.seq
      from holdfast.event
     where event.seq <= (select max(event.seq) from holdfast.event) - 10000
       for update skip locked
), old as (
    delete from holdfast.event where event.seq = any(array(select past.seq from past))
)
select coalesce(max(event.seq), 0) from holdfast.event

-- unlisten: record no more events for this listener.
delete from holdfast.listener where listener.name = :listener::text

-- read_events: events after a seq, oldest first, each with the time when it was written.
select event.seq, event.at, event.kind, event.job_id, event.chain_id, event.type, event.attempt, event.worker,
       event.written_at
  from holdfast.event
 where event.seq > :after::bigint
 order by event.seq
 limit :limit::bigint

-- event_writers: the newest event, and the start of the oldest open transaction that may have written events.
-- A transaction that writes events holds this table lock until its end. If the role cannot see the start of a
-- transaction, the result is 0.
select coalesce((select max(event.seq) from holdfast.event), 0),
       (select min(coalesce((extract(epoch from activity.xact_start) * 1000000)::bigint, 0))
          from pg_locks
          left join pg_stat_activity activity on activity.pid = pg_locks.pid
         where pg_locks.locktype = 'relation' and pg_locks.relation = 'holdfast.event'::regclass
           and pg_locks.mode = 'RowExclusiveLock' and pg_locks.pid <> pg_backend_pid())

-- record_events: write events for the listeners.
insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
select happened.at, happened.kind, happened.job_id, happened.chain_id, happened.type, happened.attempt, happened.worker
  from unnest(:nows::bigint[], :kinds::text[], :job_ids::text[], :chain_ids::text[], :types::text[], :attempts::bigint[],
              :workers::text[]) with ordinality
       happened (at, kind, job_id, chain_id, type, attempt, worker, place)
 order by happened.place
