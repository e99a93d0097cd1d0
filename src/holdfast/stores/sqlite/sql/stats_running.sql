-- stats_running: running jobs per type.
select type, count(*) from holdfast_job where status = 'running' group by type
