-- chain_statuses: where these chains stand.
select first.id,
       coalesce((select last.status from holdfast_job last
                  where last.chain_id = first.id and last.chain_index > 0
                  order by last.chain_index desc limit 1),
                first.status)
  from holdfast_job first
 where first.id in (select value from json_each(:ids)) and first.chain_index = 0
