-- counters: append, add up and read the counters.

-- append_change: append what this transaction did to the jobs of a type.
insert into holdfast_counter_change (type, minute, kind, number, waits, runs, wait_total, run_total, fingerprint,
                                     summary, example, at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- changes: changes that were not added up yet, oldest first.
select type, minute, kind, number, waits, runs, wait_total, run_total, fingerprint, summary, example, at, seq
  from holdfast_counter_change
 order by seq
 limit :limit

-- started: the jobs that were started, per type and minute, and that were not added up yet.
select type, minute, 'started', jobs from holdfast_tally where minute > 0

-- counters_due: whether there are many changes.
select (select count(*) from (select 1 from holdfast_counter_change limit :many)) = :many
    or (select count(*) from holdfast_tally where minute > 0) >= :many

-- delete_changes: remove changes that were added up.
delete from holdfast_counter_change where seq <= :seq

-- add_up_tally: add the started jobs of a type and minute to the number of jobs.
insert into holdfast_tally (type, minute, jobs) values (:type, 0, :jobs)
    on conflict (type, minute) do update set jobs = jobs + excluded.jobs

-- delete_tally: remove the minutes that were added up.
delete from holdfast_tally where minute > 0

-- counts: the totals, and the counts from this minute on.
select minute, type, started, completed, failed, retried, reaped, rescheduled, cancelled, waits, wait_total, runs,
       run_total
  from holdfast_counter
 where minute = 0 or minute >= :first

-- counts_of: the counts of these types in these minutes.
select minute, type, started, completed, failed, retried, reaped, rescheduled, cancelled, waits, wait_total, runs,
       run_total
  from holdfast_counter
 where minute in (select value from json_each(:minutes)) and type in (select value from json_each(:types))

-- error_groups: the known error groups.
select fingerprint, type, summary, first_at, last_at, example from holdfast_error_group

-- error_counts: the numbers of all groups, in total and from this minute on.
select minute, fingerprint, failed, retried from holdfast_error_count where minute = 0 or minute >= :first

-- write_counts: write the counts of a type and minute.
insert or replace into holdfast_counter (minute, type, started, completed, failed, retried, reaped, rescheduled,
                                         cancelled, waits, wait_total, runs, run_total)
values (:minute, :type, :started, :completed, :failed, :retried, :reaped, :rescheduled, :cancelled, :waits, :wait_total,
        :runs, :run_total)

-- write_error_group: write an error group.
insert or replace into holdfast_error_group (fingerprint, type, summary, first_at, last_at, example)
values (:fingerprint, :type, :summary, :first_at, :last_at, :example)

-- write_error_count: write the numbers of a group in a minute.
insert or replace into holdfast_error_count (minute, fingerprint, failed, retried)
values (:minute, :fingerprint, :failed, :retried)

-- forget_counts: remove minutes that are older than a day.
delete from holdfast_counter where minute > 0 and minute < :oldest

-- forget_groups: remove groups without a recent failure.
delete from holdfast_error_group where last_at < :since

-- forget_error_counts: remove the numbers of old minutes and of removed groups.
delete from holdfast_error_count
 where minute > 0 and minute < :oldest or fingerprint not in (select fingerprint from holdfast_error_group)
