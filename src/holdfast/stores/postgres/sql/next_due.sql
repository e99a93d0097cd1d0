-- next_due: microseconds until the first pending job of these unpaused types is due, or one of their leases expires.
-- `level` finds one priority after another in the index: a type has few priorities, even if many jobs are pending.
with recursive wanted as materialized (
    select unnest(:types::text[]) as type
), level (type, priority) as (
    select wanted.type, (select job.priority from holdfast.job
                          where job.status = 'pending' and job.type = wanted.type and job.track is null
                          order by job.track, job.priority desc limit 1)
      from wanted
     where wanted.type not in (select paused.type from holdfast.paused)
    union all
    select level.type, (select job.priority from holdfast.job
                         where job.status = 'pending' and job.type = level.type and job.track is null
                           and job.priority < level.priority
                         order by job.track, job.priority desc limit 1)
      from level
     where level.priority is not null
), moment (at) as (
    select (select job.scheduled_at from holdfast.job
             where job.status = 'pending' and job.type = level.type and job.track is null
               and job.priority = level.priority
             order by job.track, job.scheduled_at limit 1)
      from level
     where level.priority is not null
    union all
    (select 0 from holdfast.lane_change order by lane_change.new, lane_change.seq limit 1)
    union all
    select min(lane.wake_at) from holdfast.lane where lane.wake_at is not null
    union all
    select (select min(track.ready_at) from holdfast.track where track.parked is null and track.type = wanted.type)
      from wanted
     where wanted.type not in (select paused.type from holdfast.paused)
    union all
    select min(job.leased_until) from holdfast.job where job.status = 'running' and job.type = any(:types::text[])
)
select greatest(0, min(moment.at) - holdfast.clock(:now::bigint)) from moment where moment.at is not null having count(*) > 0
