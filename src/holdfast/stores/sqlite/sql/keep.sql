-- keep: change how long a finished chain is kept.
update holdfast_job set keep = :keep, expires_at = finished_at + :keep where seq = :seq

-- keep_current: the last job of a chain, its end and the end of its keep time.
select last.seq, last.finished_at, last.finished_at + last.keep
  from holdfast_job first
  join holdfast_job last on last.seq = coalesce(
           (select other.seq from holdfast_job other
             where other.chain_id = first.id and other.chain_index > 0
             order by other.chain_index desc limit 1),
           first.seq)
 where first.id = :chain_id and first.chain_index = 0
