-- explain: one job, and what decides whether it is claimed: the time, whether its type is paused, the due jobs ahead.
-- The conditions are those of claim. The jobs ahead are those of each higher priority, and the earlier ones of its own
-- priority. `level` finds one priority after another in the index, and the count stops at its limit. Jobs with an earlier
-- due time, and jobs with the same due time and a lower seq, are counted separately: with a row comparison, the server
-- would read all jobs that are due at the same time.
with recursive clock as materialized (
    select holdfast.clock(:now::bigint) as now
), subject as materialized (
    select record.*
      from holdfast.record
     where record.seq = coalesce(
               (select job.seq from holdfast.job
                 where :current::boolean and job.chain_id = :id::text and job.chain_index > 0
                 order by job.chain_index desc
                 limit 1),
               (select job.seq from holdfast.job where job.id = :id::text))
), due as materialized (
    select subject.type, subject.priority, subject.scheduled_at, subject.seq
      from subject, clock
     where subject.status = 'pending' and subject.scheduled_at <= clock.now
), level (type, priority, lowest) as (
    select due.type, (select job.priority from holdfast.job
                       where job.status = 'pending' and job.type = due.type and job.track is null and job.priority > due.priority
                       order by job.track, job.priority desc limit 1), due.priority
      from due
    union all
    select level.type, (select job.priority from holdfast.job
                         where job.status = 'pending' and job.type = level.type and job.track is null
                           and job.priority < level.priority and job.priority > level.lowest
                         order by job.track, job.priority desc limit 1), level.lowest
      from level
     where level.priority is not null
), ahead as materialized (
    select count(*) as jobs
      from (select 1
              from due
             cross join lateral (
                select 1
                  from holdfast.job
                 where job.status = 'pending' and job.type = due.type and job.track is null and job.priority = due.priority
                   and job.scheduled_at < due.scheduled_at
                 limit :limit::bigint) before
            union all
            select 1
              from due
             cross join lateral (
                select 1
                  from holdfast.job
                 where job.status = 'pending' and job.type = due.type and job.track is null and job.priority = due.priority
                   and job.scheduled_at = due.scheduled_at and job.seq < due.seq
                 limit :limit::bigint) before
            union all
            select 1
              from level
             cross join lateral (
                select 1
                  from holdfast.job
                 where job.status = 'pending' and job.type = level.type and job.track is null and job.priority = level.priority
                   and job.scheduled_at <= (select clock.now from clock)
                 limit :limit::bigint) before
             limit :limit::bigint) jobs
)
select subject.*, clock.now, subject.type in (select paused.type from holdfast.paused), ahead.jobs
  from subject, clock, ahead

-- explain_blockers: the first blockers of a job that have not completed.
select first.id, first.type, coalesce(last.status, first.status)
  from holdfast.blocker
  join holdfast.job first on first.id = blocker.chain_id and first.chain_index = 0
  left join lateral (
    select tail.status
      from holdfast.job tail
     where tail.chain_id = first.id and tail.chain_index > 0
     order by tail.chain_index desc
     limit 1) last on true
 where blocker.job_id = :job_id::text and coalesce(last.status, first.status) <> 'completed'
 order by blocker.position
 limit :limit::bigint
