-- delete_job: forget a job.
delete from holdfast_job where seq = :seq
