-- list_jobs: jobs, newest first.
-- Chosen by seq alone, so that sorting does not carry the payloads along.
select * from holdfast_record
 where seq in (select job.seq from holdfast_job job where true /* narrowed */ order by job.seq desc limit :limit)
 order by seq desc
