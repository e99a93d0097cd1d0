-- schedules: read and change schedules.

-- get_schedules: the schedules with these names, or all.
select schedule.name, schedule.version, schedule.body
  from holdfast_schedule schedule
 where :names is null or schedule.name in (select value from json_each(:names))
 order by schedule.name

-- due_schedules: schedules of these types with a due tick, the earliest tick first.
select schedule.name, schedule.version, schedule.body
  from holdfast_schedule schedule
 where schedule.type in (select value from json_each(:types)) and schedule.ticks_at <= :now
 order by schedule.ticks_at, schedule.name
 limit :limit

-- next_tick: the next tick of a schedule of these types that is not due.
select min((select min(schedule.ticks_at) from holdfast_schedule schedule
             where schedule.type = type.value and schedule.ticks_at > :now))
  from json_each(:types) type

-- schedule_version: the current version of a schedule.
select schedule.version from holdfast_schedule schedule where schedule.name = :name

-- write_schedule: create or replace a schedule.
insert into holdfast_schedule (name, version, type, ticks_at, body)
values (:name, :version, :type, :ticks_at, :body)
    on conflict (name) do update
   set version = excluded.version, type = excluded.type, ticks_at = excluded.ticks_at, body = excluded.body

-- delete_schedule: delete a schedule.
delete from holdfast_schedule where name = :name
