-- claim_due: the due jobs of one type and priority, best first.
-- One priority at a time: across priorities the index would walk over everything that is scheduled for later.
select scheduled_at, seq
  from holdfast_job
 where status = 'pending' and type = :type and priority = :priority and scheduled_at <= :now
 order by scheduled_at, seq
 limit :limit
