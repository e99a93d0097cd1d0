-- find_id: whether this job exists, and in which chain.
select id, chain_id from holdfast_job where id = :id
