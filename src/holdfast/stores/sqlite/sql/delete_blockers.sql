-- delete_blockers: forget what a job waited for.
delete from holdfast_blocker where job_id = :id
