-- claim_next_head: the best of a type's pending jobs below a priority, due or not.
select priority, scheduled_at
  from holdfast_job
 where status = 'pending' and type = :type and priority < :priority
 order by priority desc, scheduled_at, seq
 limit 1
