-- chain_jobs: every job of these chains.
select job.seq, job.chain_id from holdfast.job where job.id = any(:chain_ids::text[]) and job.chain_index = 0
union all
select job.seq, job.chain_id from holdfast.job where job.chain_id = any(:chain_ids::text[]) and job.chain_index > 0
