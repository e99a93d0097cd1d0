-- find_ids: which of these jobs exist, and in which chains.
select id, chain_id from holdfast_job where id in (select value from json_each(:ids))
