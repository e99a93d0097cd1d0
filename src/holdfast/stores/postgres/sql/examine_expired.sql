-- examine_expired: running jobs whose lease ran out, and for how long.
select count(*), max(holdfast.clock(:now::bigint) - job.leased_until)
  from holdfast.job
 where job.status = 'running' and job.leased_until <= holdfast.clock(:now::bigint)
