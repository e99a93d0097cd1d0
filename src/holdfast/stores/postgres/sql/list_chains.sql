-- list_chains: the first jobs of chains, newest first.
select job.seq, job.id
  from holdfast.job
 where job.chain_index = 0 /* narrowed */
 order by job.seq desc
 limit :limit::bigint
