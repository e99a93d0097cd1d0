-- find_key: the newest chain in a dedup scope.
select first.id
  from holdfast_job first
  join holdfast_job last on last.seq = coalesce(
           (select step.seq from holdfast_job step
             where step.chain_id = first.id and step.chain_index > 0
             order by step.chain_index desc limit 1),
           first.seq)
 where first.key = :key and first.type = :type and first.chain_index = 0
   and first.created_at > :since
   and first.id not in (select value from json_each(:exclude))
   and (:scope = 'any'
        or last.status in ('blocked', 'pending', 'running')
        or :scope = 'successful' and last.status = 'completed'
           and (last.expires_at is null or last.expires_at > :now))
 order by first.seq desc
 limit 1
