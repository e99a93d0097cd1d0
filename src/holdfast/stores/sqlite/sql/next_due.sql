-- next_due: find when a job is due or a lease expires.

-- next_due_pending: the earliest due time of a pending job whose type is not paused.
-- The recursion follows the index from one priority to the next. A type has few priorities, even with many jobs.
with recursive level (type, priority) as (
    select type.value, (select max(job.priority) from holdfast_job job
                         where job.status = 'pending' and job.type = type.value and job.track_seq is null)
      from json_each(:types) type
     where type.value not in (select paused.type from holdfast_paused paused)
    union all
    select level.type, (select max(job.priority) from holdfast_job job
                         where job.status = 'pending' and job.type = level.type and job.track_seq is null
                           and job.priority < level.priority)
      from level
     where level.priority is not null
)
select min((select min(job.scheduled_at) from holdfast_job job
             where job.status = 'pending' and job.type = level.type and job.track_seq is null
               and job.priority = level.priority))
  from level
 where level.priority is not null

-- next_due_leased: when the first lease of these types expires.
select min((select min(job.leased_until) from holdfast_job job
             where job.status = 'running' and job.type = type.value))
  from json_each(:types) type
