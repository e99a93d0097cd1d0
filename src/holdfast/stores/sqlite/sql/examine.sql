-- examine: count late jobs for `holdfast doctor`.

-- examine_expired: running jobs whose lease has expired.
select count(*), min(leased_until) from holdfast_job where status = 'running' and leased_until <= :now

-- examine_oldest: the pending job with the earliest due time whose type is not paused.
select type, min(scheduled_at) from holdfast_job
 where status = 'pending' and scheduled_at <= :now and type not in (select paused.type from holdfast_paused paused)
