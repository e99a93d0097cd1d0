-- find_key: the newest chain in a dedup scope.
select first.id
  from holdfast_job first
 where first.key = :key and first.type = :type and first.chain_index = 0
   and first.created_at > :since
   and first.id not in (select value from json_each(:exclude))
   and (:any or coalesce(
           (select last.status from holdfast_job last
             where last.chain_id = first.id and last.chain_index > 0
             order by last.chain_index desc limit 1),
           first.status) in ('blocked', 'pending', 'running'))
 order by first.seq desc
 limit 1
