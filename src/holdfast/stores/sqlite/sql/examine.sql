-- examine: what `holdfast doctor` counts.

-- examine_expired: running jobs whose lease ran out.
select count(*), min(leased_until) from holdfast_job where status = 'running' and leased_until <= :now

-- examine_oldest: the pending job that has been due the longest, of a type that is not paused.
select type, min(scheduled_at) from holdfast_job
 where status = 'pending' and scheduled_at <= :now and type not in (select paused.type from holdfast_paused paused)
