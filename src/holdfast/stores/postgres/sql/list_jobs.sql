-- list_jobs: jobs, newest first.
-- Chosen by seq alone, so that sorting does not carry the payloads along.
select record.* from holdfast.record
 where record.seq = any(array(
    select job.seq from holdfast.job where true /* narrowed */ order by job.seq desc limit :limit::bigint))
 order by record.seq desc
