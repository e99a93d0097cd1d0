-- list_jobs: jobs, newest first.
-- The subquery selects only seq, so that the sort does not move the payloads.
select record.* from holdfast.record
 where record.seq = any(array(select 0::bigint as seq /* seqs */))
 order by record.seq desc

-- seqs: the newest jobs.
select job.seq from holdfast.job where true /* narrowed */ order by job.seq desc limit :count::bigint

-- seqs_by_status: the newest jobs of a status that has an index.
-- + 0 makes the planner read the index of the status and sort. Otherwise it may read all jobs by seq to find a few.
select job.seq from holdfast.job where true /* narrowed */ order by job.seq + 0 desc limit :count::bigint

-- seqs_by_type: the newest jobs of a status whose index has the type and the seq.
-- Reads the newest jobs of each type: the jobs of the status may be many.
with recursive type (name) as (
    (select job.type from holdfast.job where true /* of status */ order by job.type limit 1)
    union all
    select (select job.type from holdfast.job where job.type > type.name /* of status */ order by job.type limit 1)
      from type where type.name is not null
)
select newest.seq
  from type
 cross join lateral (
    select job.seq
      from holdfast.job
     where job.type = type.name /* narrowed */
     order by job.seq desc
     limit :count::bigint) newest
 order by newest.seq desc
 limit :count::bigint

-- seqs_recent: the newest jobs of a status among those with the highest seqs.
-- The first limit hides the status from the planner: its index may have millions of jobs.
select job.seq
  from (select *
          from holdfast.job recent
         where recent.seq < coalesce(:before::bigint, 9223372036854775807)
         order by recent.seq desc
         limit :recent::bigint) job
 where true /* narrowed */
 order by job.seq desc
 limit :count::bigint

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
-- + 0: see seqs_by_status.
select job.seq, job.id
  from holdfast.job last
  join holdfast.job on job.id = last.chain_id and job.chain_index = 0
 where true /* narrowed */
 order by job.seq + 0 desc
 limit :limit::bigint

-- list_chains_by_newest: the same as list_chains_by_last, but found only by the newest last jobs.
-- A chain is not newer than its last job. So the result has all chains whose seq is at least that of the oldest of these
-- jobs. offset 0 makes the planner find each last job by its seq. Otherwise it may read all jobs of the status for each.
with newest as materialized (
    select 0::bigint as seq /* seqs */
)
select job.seq, job.id
  from newest
 cross join lateral (select * from holdfast.job where job.seq = newest.seq offset 0) last
  join holdfast.job on job.id = last.chain_id and job.chain_index = 0
 where job.seq >= (select min(oldest.seq) from newest oldest) /* narrowed */
 order by job.seq desc
 limit :limit::bigint

-- list_floor: the seq of the last row that a list reads.
select job.seq from (select 0::bigint as seq /* seqs */) job order by job.seq desc offset :offset::bigint limit 1
