-- list_chains_by_last: the first jobs of chains, newest first, found by their last job.
-- For statuses that only the last job of a chain can have, which are few beside the completed ones.
select job.seq, job.id
  from holdfast.job last
  join holdfast.job on job.id = last.chain_id and job.chain_index = 0
 where true /* narrowed */
 order by job.seq desc
 limit :limit::bigint
