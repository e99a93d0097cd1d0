-- list_jobs: jobs, newest first.
-- Chosen by seq alone, so that sorting does not carry the payloads along.
select * from holdfast_record
 where seq in (select job.seq from holdfast_job job where true /* narrowed */ order by job.seq desc limit :limit)
 order by seq desc

-- list_jobs_by_status: jobs of a status that has an index, newest first.
-- +seq: all of that index and then a sort; the other way it might read millions of completed jobs to find a few.
select * from holdfast_record
 where seq in (select job.seq from holdfast_job job where true /* narrowed */ order by +job.seq desc limit :limit)
 order by seq desc

-- list_chains: the first jobs of chains, newest first.
select job.seq, job.id
  from holdfast_job job
  join holdfast_job last on last.seq = coalesce(
           (select step.seq from holdfast_job step
             where step.chain_id = job.id and step.chain_index > 0
             order by step.chain_index desc limit 1),
           job.seq)
 where job.chain_index = 0 /* narrowed */
 order by job.seq desc
 limit :limit

-- list_chains_by_last: the first jobs of chains, newest first, found by their last job.
-- For statuses that only the last job of a chain can have, which are few beside the completed ones.
select job.seq, job.id
  from holdfast_job last
  join holdfast_job job on job.id = last.chain_id
 where true /* narrowed */
 order by job.seq desc
 limit :limit
