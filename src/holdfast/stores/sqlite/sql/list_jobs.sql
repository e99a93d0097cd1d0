-- list_jobs: jobs, newest first.
-- The inner query sorts seqs only, without the payloads.
select * from holdfast_record
 where seq in (select job.seq from holdfast_job job where true /* narrowed */ order by job.seq desc limit :limit)
 order by seq desc

-- list_jobs_by_status: jobs of a status that has an index, newest first.
-- +seq: read the whole index, then sort. Otherwise SQLite may read millions of completed jobs to find a few.
select * from holdfast_record
 where seq in (select job.seq from holdfast_job job where true /* narrowed */ order by +job.seq desc limit :limit)
 order by seq desc

-- list_jobs_recent: the same among the jobs with the highest seqs, which are read one by one.
-- not indexed: the index of a status may have millions of jobs.
select * from holdfast_record
 where seq in (select job.seq from holdfast_job job not indexed where true /* narrowed */ order by job.seq desc limit :limit)
 order by seq desc

-- list_chains: the first jobs of chains, newest first.
select job.seq, job.id
  from holdfast_job job
  join holdfast_job last on last.seq = coalesce(
           (select other.seq from holdfast_job other
             where other.chain_id = job.id and other.chain_index > 0
             order by other.chain_index desc limit 1),
           job.seq)
 where job.chain_index = 0 /* narrowed */
 order by job.seq desc
 limit :limit

-- list_chains_by_last: the first jobs of chains, newest first, found through their last job.
-- For statuses that only the last job of a chain can have. Such jobs are few compared with completed ones.
select job.seq, job.id
  from holdfast_job last
  join holdfast_job job on job.id = last.chain_id
 where true /* narrowed */
 order by job.seq desc
 limit :limit

-- list_chains_by_newest: the same through the newest last jobs only.
-- A chain is not newer than its last job. So no chain is missing whose seq is at least that of the oldest of these jobs.
-- +seq: read the whole index of the status, then sort, as in list_jobs_by_status.
with newest as materialized (
    select last.seq from holdfast_job last where true /* narrowed */ order by +last.seq desc limit :newest
)
select job.seq, job.id
  from newest
  join holdfast_job last on last.seq = newest.seq
  join holdfast_job job on job.id = last.chain_id
 where job.seq >= (select min(oldest.seq) from newest oldest) /* narrowed */
 order by job.seq desc
 limit :limit

-- list_floor: the seq of the last row that a list reads.
select job.seq from holdfast_job job where true /* narrowed */ order by job.seq desc limit 1 offset :offset

-- list_floor_by_status: the same among the jobs of a status that has an index.
select job.seq from holdfast_job job where true /* narrowed */ order by +job.seq desc limit 1 offset :offset

-- list_floor_by_last: the same among the last jobs of chains.
select last.seq from holdfast_job last where true /* narrowed */ order by +last.seq desc limit 1 offset :offset
