-- get_stats: count the jobs per type.

-- stats_total: jobs per type.
select type, sum(jobs) from holdfast_tally group by type having sum(jobs) > 0

-- stats_paused: the types that are paused.
select type from holdfast_paused

-- stats_pending: pending jobs per type, how many of them are due, and the earliest due time.
select type, count(*), sum(scheduled_at <= :now), min(case when scheduled_at <= :now then scheduled_at end)
  from holdfast_job where status = 'pending' group by type

-- stats_running: running jobs per type.
select type, count(*) from holdfast_job where status = 'running' group by type

-- stats_rare: blocked, failed and cancelled jobs per type.
select status, type, count(*)
  from holdfast_job
 where status = 'blocked' or status = 'failed' or status = 'cancelled'
 group by status, type
