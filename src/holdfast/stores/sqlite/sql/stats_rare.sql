-- stats_rare: blocked, failed and cancelled jobs per type.
select status, type, count(*)
  from holdfast_job
 where status = 'blocked' or status = 'failed' or status = 'cancelled'
 group by status, type
