-- chains: the first jobs of these chains, each with the seq of the last.
select first.*,
       coalesce((select last.seq from holdfast_job last
                  where last.chain_id = first.id and last.chain_index > 0
                  order by last.chain_index desc limit 1),
                first.seq)
  from holdfast_record first
 where first.id in (select value from json_each(:ids)) and first.chain_index = 0
