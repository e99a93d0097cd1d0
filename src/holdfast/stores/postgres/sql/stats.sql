-- get_stats: counts per type, in one statement and so from one snapshot.
-- Neither completed nor pending jobs are counted one by one: the number of completed jobs is in the counters, and all
-- other jobs of the total are pending. Only jobs that are scheduled for later, and jobs with lanes, are read.
-- A level is a pair of type and priority. `order by track`: the column is null, but with it the order is that of the index.
with recursive clock as materialized (
    select holdfast.clock(:now::bigint) as now
), total as materialized (
    select tally.type, sum(tally.jobs)::bigint as jobs, sum(tally.removed)::bigint as removed
      from holdfast.tally
     group by tally.type
), level (type, priority) as (
    select total.type, (select job.priority from holdfast.job
                         where job.status = 'pending' and job.type = total.type and job.track is null
                         order by job.track, job.priority desc limit 1)
      from total
    union all
    select level.type, (select job.priority from holdfast.job
                         where job.status = 'pending' and job.type = level.type and job.track is null
                           and job.priority < level.priority
                         order by job.track, job.priority desc limit 1)
      from level
     where level.priority is not null
)
select total.type, 'all' as kind, total.jobs, null::bigint as oldest_due from total
union all
select total.type, 'removed', total.removed, null from total
union all
select counter.type, 'completed', counter.completed, null from holdfast.counter where counter.minute = 0
union all
select counter_change.type, 'completed', sum(counter_change.number)::bigint, null
  from holdfast.counter_change
 where counter_change.kind = 'completed'
 group by counter_change.type
union all
select level.type, 'scheduled',
       (select count(*) from holdfast.job
         where job.status = 'pending' and job.type = level.type and job.track is null and job.priority = level.priority
           and job.scheduled_at > clock.now),
       (select job.scheduled_at from holdfast.job
         where job.status = 'pending' and job.type = level.type and job.track is null and job.priority = level.priority
           and job.scheduled_at <= clock.now
         order by job.track, job.scheduled_at limit 1)
  from level, clock
 where level.priority is not null
union all
select total.type, 'scheduled', laned.scheduled, laned.oldest_due
  from total
 cross join clock
 cross join lateral (
    select count(*) filter (where job.scheduled_at > clock.now) as scheduled,
           min(job.scheduled_at) filter (where job.scheduled_at <= clock.now) as oldest_due
      from holdfast.job
     where job.status = 'pending' and job.type = total.type and job.track is not null) laned
union all
select job.type, 'running', count(*), null from holdfast.job where job.status = 'running' group by job.type
union all
select job.type, 'blocked', count(*), null from holdfast.job where job.status = 'blocked' group by job.type
union all
select job.type, 'failed', count(*), null from holdfast.job where job.status = 'failed' group by job.type
union all
select job.type, 'cancelled', count(*), null from holdfast.job where job.status = 'cancelled' group by job.type
union all
select paused.type, 'paused', 1, null from holdfast.paused
