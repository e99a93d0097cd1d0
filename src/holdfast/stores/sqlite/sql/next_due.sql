-- next_due: find when a job is due or a lease expires.

-- next_due_pending: of each unpaused type and priority, when the first pending job is due.
-- From one priority to the next by the index: a type has few of them, however many jobs wait.
with recursive level (type, priority) as (
    select type.value, (select max(job.priority) from holdfast_job job
                         where job.status = 'pending' and job.type = type.value)
      from json_each(:types) type
     where type.value not in (select paused.type from holdfast_paused paused)
    union all
    select level.type, (select max(job.priority) from holdfast_job job
                         where job.status = 'pending' and job.type = level.type and job.priority < level.priority)
      from level
     where level.priority is not null
)
select min((select min(job.scheduled_at) from holdfast_job job
             where job.status = 'pending' and job.type = level.type and job.priority = level.priority))
  from level
 where level.priority is not null

-- next_due_leased: when the first lease of these types runs out.
select min((select min(job.leased_until) from holdfast_job job
             where job.status = 'running' and job.type = type.value))
  from json_each(:types) type
