-- get_jobs: the jobs with these ids.
select * from holdfast_record where id in (select value from json_each(:ids))
