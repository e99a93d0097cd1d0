-- list_jobs_by_status: jobs of a status that has an index, newest first.
-- +seq: all of that index and then a sort; the other way it might read millions of completed jobs to find a few.
select * from holdfast_record
 where seq in (select job.seq from holdfast_job job where true /* narrowed */ order by +job.seq desc limit :limit)
 order by seq desc
