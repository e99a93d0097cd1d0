-- retry_keys: the chains of these jobs that were started with a key.
select first.id, first.type, first.key
  from holdfast.job
  join holdfast.job first on first.id = job.chain_id
 where job.id = any(:ids::text[]) and first.key is not null
