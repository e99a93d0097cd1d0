-- workers: what the file of the store knows about workers. Their rows are in the worker file.

-- busy_workers: the number of jobs that each worker runs.
select worker, count(*) from holdfast_job where status = 'running' group by worker
