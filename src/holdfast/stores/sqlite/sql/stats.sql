-- get_stats: count the jobs per type.
-- Neither completed nor pending jobs are counted one by one: the number of completed jobs is in the counters, and all
-- other jobs of the total are pending.

-- stats_paused: the types that are paused.
select type from holdfast_paused

-- stats_total: jobs per type, completed jobs that were deleted, jobs that were ever completed, and paused types.
select type, 'all', sum(jobs), null from holdfast_tally group by type
union all
select type, 'removed', sum(removed), null from holdfast_tally group by type
union all
select type, 'completed', completed, null from holdfast_counter where minute = 0
union all
select type, 'completed', sum(number), null from holdfast_counter_change where kind = 'completed' group by type
union all
select type, 'paused', 1, null from holdfast_paused

-- stats_scheduled: pending jobs without lanes that are not due yet, and the earliest due time of the others.
-- The recursion follows the index from one priority to the next. A type has few priorities, even with many jobs.
with recursive level (type, priority) as (
    select tally.type, (select max(job.priority) from holdfast_job job
                         where job.status = 'pending' and job.type = tally.type and job.track_seq is null)
      from (select distinct type from holdfast_tally) tally
    union all
    select level.type, (select max(job.priority) from holdfast_job job
                         where job.status = 'pending' and job.type = level.type and job.track_seq is null
                           and job.priority < level.priority)
      from level
     where level.priority is not null
)
select level.type, 'scheduled',
       (select count(*) from holdfast_job job
         where job.status = 'pending' and job.type = level.type and job.track_seq is null
           and job.priority = level.priority and job.scheduled_at > :now),
       (select min(job.scheduled_at) from holdfast_job job
         where job.status = 'pending' and job.type = level.type and job.track_seq is null
           and job.priority = level.priority and job.scheduled_at <= :now)
  from level
 where level.priority is not null

-- stats_laned: the same of pending jobs with lanes. Each of them is read.
-- >= 0: SQLite reads a range of the index for it, and not for `is not null`. The type is compared first, so that no other job is read.
select tally.type, 'scheduled', sum(job.scheduled_at > :now),
       min(case when job.scheduled_at <= :now then job.scheduled_at end)
  from (select distinct type from holdfast_tally) tally
 cross join holdfast_job job
 where job.status = 'pending' and job.type = tally.type and job.track_seq >= 0
 group by tally.type

-- stats_counted: the jobs of the other statuses per type.
select type, 'running', count(*), null from holdfast_job where status = 'running' group by type
union all
select type, status, count(*), null
  from holdfast_job
 where status = 'blocked' or status = 'failed' or status = 'cancelled'
 group by status, type
