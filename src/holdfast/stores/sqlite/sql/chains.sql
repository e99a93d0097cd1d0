-- chains: the first job of each of these chains, and the seq of its last job.
select first.*,
       coalesce((select last.seq from holdfast_job last
                  where last.chain_id = first.id and last.chain_index > 0
                  order by last.chain_index desc limit 1),
                first.seq)
  from holdfast_record first
 where first.id in (select value from json_each(:ids)) and first.chain_index = 0

-- records: the jobs with these seqs.
select * from holdfast_record where seq in (select value from json_each(:seqs))

-- chain_jobs: all jobs of a chain, in order.
select seq, id, type, status, attempt, worker from holdfast_job where id = :chain_id and chain_index = 0
union all
select * from (
    select seq, id, type, status, attempt, worker from holdfast_job
     where chain_id = :chain_id and chain_index > 0 order by chain_index)

-- chain_types: the type of each of these chains, which is that of its first job.
select id, type from holdfast_job where id in (select value from json_each(:ids)) and chain_index = 0

-- chain_statuses: the status of each of these chains, which is that of its last job.
select first.id,
       coalesce((select last.status from holdfast_job last
                  where last.chain_id = first.id and last.chain_index > 0
                  order by last.chain_index desc limit 1),
                first.status)
  from holdfast_job first
 where first.id in (select value from json_each(:ids)) and first.chain_index = 0
