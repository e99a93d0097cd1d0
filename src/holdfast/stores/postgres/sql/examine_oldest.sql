-- examine_oldest: the pending job that has been due the longest, of a type that is not paused.
select job.type, holdfast.clock(:now::bigint) - job.scheduled_at
  from holdfast.job
 where job.status = 'pending' and job.scheduled_at <= holdfast.clock(:now::bigint)
   and job.type not in (select paused.type from holdfast.paused)
 order by job.scheduled_at
 limit 1
