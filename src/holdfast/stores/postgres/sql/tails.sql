-- tails: the last job of each of these chains.
select last.chain_id, last.seq, last.id, last.status, last.awaited
  from unnest(:ids::text[]) wanted (id)
 cross join lateral (
    (select job.chain_id, job.seq, job.id, job.status, job.awaited
       from holdfast.job
      where job.chain_id = wanted.id and job.chain_index > 0
      order by job.chain_index desc
      limit 1)
    union all
    (select job.chain_id, job.seq, job.id, job.status, job.awaited
       from holdfast.job
      where job.id = wanted.id and job.chain_index = 0)
    limit 1) last
