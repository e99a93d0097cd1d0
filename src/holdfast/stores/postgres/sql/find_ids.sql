-- find_ids: which of these jobs exist, and in which chains.
select job.id, job.chain_id from holdfast.job where job.id = any(:ids::text[])
