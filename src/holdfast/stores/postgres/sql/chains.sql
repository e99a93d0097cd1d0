-- chains: the chains with these ids, each as its first job and its last where that is another.
select first.*, last.*
  from holdfast.record first
  left join lateral (
    select tail.*
      from holdfast.record tail
     where tail.chain_id = first.id and tail.chain_index > 0
     order by tail.chain_index desc
     limit 1) last on true
 where first.id = any(:ids::text[]) and first.chain_index = 0
