-- list_jobs: jobs, newest first.
-- The subquery selects only seq, so that the sort does not move the payloads.
select record.* from holdfast.record
 where record.seq = any(array(
    select job.seq from holdfast.job where true /* narrowed */ order by job.seq desc limit :limit::bigint))
 order by record.seq desc

-- list_chains: the first jobs of chains, newest first.
select job.seq, job.id
  from holdfast.job
 where job.chain_index = 0 /* narrowed */
 order by job.seq desc
 limit :limit::bigint

-- list_chains_with_last: the first jobs of chains, newest first, with conditions on their last jobs.
select job.seq, job.id
  from holdfast.job
 cross join lateral (
    (select tail.status, tail.type, tail.worker, tail.finished_at, tail.scheduled_at, tail.attempt, tail.error
       from holdfast.job tail
      where tail.chain_id = job.id and tail.chain_index > 0
      order by tail.chain_index desc
      limit 1)
    union all
    (select job.status, job.type, job.worker, job.finished_at, job.scheduled_at, job.attempt, job.error)
    limit 1) last
 where job.chain_index = 0 /* narrowed */
 order by job.seq desc
 limit :limit::bigint

-- list_chains_by_last: the first jobs of chains, newest first, found by their last job.
-- For statuses that only the last job of a chain can have. Such jobs are few, compared with the completed ones.
select job.seq, job.id
  from holdfast.job last
  join holdfast.job on job.id = last.chain_id and job.chain_index = 0
 where true /* narrowed */
 order by job.seq desc
 limit :limit::bigint

-- list_chains_by_newest: the same through the newest last jobs only.
-- A chain is not newer than its last job. So no chain is missing whose seq is at least that of the oldest of these jobs.
with newest as materialized (
    select last.seq from holdfast.job last where true /* narrowed */ order by last.seq desc limit :newest::bigint
)
select job.seq, job.id
  from newest
  join holdfast.job last on last.seq = newest.seq
  join holdfast.job on job.id = last.chain_id and job.chain_index = 0
 where job.seq >= (select min(oldest.seq) from newest oldest) /* narrowed */
 order by job.seq desc
 limit :limit::bigint

-- list_floor: the seq of the last row that a list reads.
select job.seq from holdfast.job where true /* narrowed */ order by job.seq desc offset :offset::bigint limit 1

-- list_floor_by_last: the same among the last jobs of chains.
select last.seq from holdfast.job last where true /* narrowed */ order by last.seq desc offset :offset::bigint limit 1
