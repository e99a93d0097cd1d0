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
