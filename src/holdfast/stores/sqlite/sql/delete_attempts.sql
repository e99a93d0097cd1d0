-- delete_attempts: forget a job's history.
delete from holdfast_attempt where job_id = :id
