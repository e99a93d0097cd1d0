-- get_jobs: the jobs with these ids.
select record.* from holdfast.record where record.id = any(:ids::text[])
