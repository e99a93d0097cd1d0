-- keep: a finished chain stays for another while.
update holdfast_job set keep = :keep, expires_at = finished_at + :keep where seq = :seq

-- keep_current: the last job of a chain, when it ended and until when it is kept.
select last.seq, last.finished_at, last.expires_at
  from holdfast_job first
  join holdfast_job last on last.seq = coalesce(
           (select step.seq from holdfast_job step
             where step.chain_id = first.id and step.chain_index > 0
             order by step.chain_index desc limit 1),
           first.seq)
 where first.id = :chain_id and first.chain_index = 0
