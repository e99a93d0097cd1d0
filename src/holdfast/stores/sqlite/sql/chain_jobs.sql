-- chain_jobs: all jobs of a chain, in order.
select seq, id, type, status, attempt, worker from holdfast_job where id = :chain_id and chain_index = 0
union all
select * from (
    select seq, id, type, status, attempt, worker from holdfast_job
     where chain_id = :chain_id and chain_index > 0 order by chain_index)
