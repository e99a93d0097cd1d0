-- schedules: read and change schedules.

-- get_schedules: the schedules with these names, or all, and the time. The first row has only the time.
select null::text, null::text, null::bytea, holdfast.clock(:now::bigint)
union all
select found.name, found.version, found.body, null
  from (select schedule.name, schedule.version, schedule.body
          from holdfast.schedule
         where :names::text[] is null or schedule.name = any(:names::text[])
         order by schedule.name) found

-- due_schedules: schedules of these types with a due tick, the earliest tick first.
-- The first row has the time, and the next tick that is not due.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
)
select null::text, null::text, null::bytea, clock.now, (
       select min((select min(schedule.ticks_at) from holdfast.schedule
                    where schedule.type = wanted.type and schedule.ticks_at > clock.now))
         from unnest(:types::text[]) wanted (type))
  from clock
union all
select found.name, found.version, found.body, null, null
  from clock, lateral (
    select schedule.name, schedule.version, schedule.body
      from holdfast.schedule
     where schedule.type = any(:types::text[]) and schedule.ticks_at <= clock.now
     order by schedule.ticks_at, schedule.name
     limit :limit::bigint) found

-- schedule_version: lock a schedule until the transaction ends, and return its version.
select schedule.version from holdfast.schedule where schedule.name = :name::text for update

-- free_schedule_version: the same, but a schedule that another transaction locks is not returned.
select schedule.version from holdfast.schedule where schedule.name = :name::text for update skip locked

-- create_schedule: create a schedule, unless it exists.
insert into holdfast.schedule (name, version, type, ticks_at, body)
values (:name::text, :version::text, :type::text, :ticks_at::bigint, :body::bytea)
    on conflict (name) do nothing
returning 1

-- write_schedule: change a locked schedule.
update holdfast.schedule
   set version = :version::text, type = :type::text, ticks_at = :ticks_at::bigint, body = :body::bytea
 where schedule.name = :name::text
returning 1

-- delete_schedule: delete a locked schedule.
delete from holdfast.schedule where schedule.name = :name::text
