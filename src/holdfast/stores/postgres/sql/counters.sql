-- counters: read the counters, and add up their changes.

-- counters_due: lock the row that permits adding up, if there are many changes. Returns no row if there are few changes,
-- or if another transaction is adding up. One transaction adds up at a time, so that none waits for a sum that another
-- one writes.
select counter_lock.present
  from holdfast.counter_lock
 where (select count(*) from (select 1 from holdfast.counter_change limit :many::int) changes) = :many::int
    or (select count(*) from (select 1 from holdfast.tally limit :many::int) changes) = :many::int
   for update skip locked

-- take_changes: remove the oldest changes, and return them.
with old as materialized (
    select counter_change.seq
      from holdfast.counter_change
     order by counter_change.seq
     limit :limit::int
       for update skip locked
)
delete from holdfast.counter_change
 where counter_change.seq = any(array(select old.seq from old))
returning counter_change.type, counter_change.minute, counter_change.kind, counter_change.number, counter_change.waits,
          counter_change.runs, coalesce(counter_change.wait_total, 0), coalesce(counter_change.run_total, 0),
          counter_change.fingerprint, counter_change.summary, counter_change.example, coalesce(counter_change.at, 0)

-- take_tally: add up old rows of the tally, if there are many. Returns the jobs that were started, per type and minute.
with old as materialized (
    select tally.seq
      from holdfast.tally
     where (select count(*) from (select 1 from holdfast.tally limit :many::int) changes) = :many::int
     order by tally.seq
     limit 50000
       for update skip locked
), deleted as (
    delete from holdfast.tally
     where tally.seq = any(array(select old.seq from old))
    returning tally.type, tally.jobs, tally.removed, tally.minute
), added as (
    insert into holdfast.tally (type, jobs, removed)
    select deleted.type, sum(deleted.jobs), sum(deleted.removed)
      from deleted
     group by deleted.type
    having sum(deleted.jobs) <> 0 or sum(deleted.removed) <> 0
)
select deleted.type, deleted.minute, 'started', sum(deleted.jobs)::bigint
  from deleted
 where deleted.minute is not null
 group by deleted.type, deleted.minute

-- counts_of: the counts of these types in these minutes.
select minute, type, started, completed, failed, retried, reaped, rescheduled, cancelled, waits, wait_total, runs,
       run_total
  from holdfast.counter
 where minute = any(:minutes::int[]) and type = any(:types::text[])

-- error_groups: the known error groups.
select fingerprint, type, summary, first_at, last_at, example from holdfast.error_group

-- error_counts_of: the numbers of these groups in these minutes.
select minute, fingerprint, failed, retried
  from holdfast.error_count
 where minute = any(:minutes::int[]) and fingerprint = any(:fingerprints::text[])

-- write_counts: write the counts of a type and minute.
insert into holdfast.counter (minute, type, started, completed, failed, retried, reaped, rescheduled, cancelled, waits,
                              wait_total, runs, run_total)
values (:minute::int, :type::text, :started::bigint, :completed::bigint, :failed::bigint, :retried::bigint,
        :reaped::bigint, :rescheduled::bigint, :cancelled::bigint, :waits::text, :wait_total::bigint, :runs::text,
        :run_total::bigint)
    on conflict (minute, type) do update
   set started = excluded.started, completed = excluded.completed, failed = excluded.failed, retried = excluded.retried,
       reaped = excluded.reaped, rescheduled = excluded.rescheduled, cancelled = excluded.cancelled,
       waits = excluded.waits, wait_total = excluded.wait_total, runs = excluded.runs, run_total = excluded.run_total

-- write_error_group: write an error group.
insert into holdfast.error_group (fingerprint, type, summary, first_at, last_at, example)
values (:fingerprint::text, :type::text, :summary::text, :first_at::bigint, :last_at::bigint, :example::text)
    on conflict (fingerprint) do update
   set first_at = excluded.first_at, last_at = excluded.last_at, example = excluded.example

-- write_error_count: write the numbers of a group in a minute.
insert into holdfast.error_count (minute, fingerprint, failed, retried)
values (:minute::int, :fingerprint::text, :failed::bigint, :retried::bigint)
    on conflict (minute, fingerprint) do update set failed = excluded.failed, retried = excluded.retried

-- forget_counts: remove minutes that are older than a day, and groups without a recent failure.
with minutes as (
    delete from holdfast.counter where counter.minute > 0 and counter.minute < :oldest::int
), old as (
    delete from holdfast.error_group where error_group.last_at < :since::bigint returning error_group.fingerprint
)
delete from holdfast.error_count
 where error_count.minute > 0 and error_count.minute < :oldest::int
    or error_count.fingerprint = any(array(select old.fingerprint from old))

-- get_counters: the totals, the minutes from this one on, and the changes that were not added up yet.
-- One statement has one snapshot. With two snapshots, a prune that moves changes into the sums in between would make the
-- result wrong.
-- The first column is the kind of the row.
select 'sum' as row, minute, type, started, completed, failed, retried, reaped, rescheduled, cancelled, waits,
       wait_total, runs, run_total, null::text as kind
  from holdfast.counter
 where minute = 0 or minute >= :first::int
union all
select 'change', minute, type, number, 0, 0, 0, 0, 0, 0, waits, coalesce(wait_total, 0), runs, coalesce(run_total, 0), kind
  from holdfast.counter_change
union all
select 'change', minute, type, sum(jobs)::bigint, 0, 0, 0, 0, 0, 0, null, 0, null, 0, 'started'
  from holdfast.tally
 where minute is not null
 group by minute, type

-- get_errors: the groups, their numbers in total and from this minute on, and the changes that were not added up yet.
select 'group' as row, fingerprint, type, summary, first_at, last_at, example, 0 as minute, null::text as kind
  from holdfast.error_group
union all
select 'number', fingerprint, null, null, failed, retried, null, minute, null
  from holdfast.error_count
 where minute = 0 or minute >= :first::int
union all
select 'change', fingerprint, type, summary, number, at, example, minute, kind
  from holdfast.counter_change
 where fingerprint is not null
