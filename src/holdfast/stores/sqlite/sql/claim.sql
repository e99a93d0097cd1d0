-- claim: hold these jobs.
-- +status: by seq, not by the index of all that is pending.
update holdfast_job
   set status = 'running', attempt = attempt + 1, max_attempts = coalesce(max_attempts, :max_attempts),
       worker = :worker, token = :token, leased_until = :leased_until, renewed_at = :now, started_at = :now,
       progress = null, progress_note = null
 where seq in (select value from json_each(:seqs)) and +status = 'pending'

-- claim_heads: of each unpaused type, the best of its pending jobs, due or not.
select type.value, head.priority, head.scheduled_at
  from json_each(:types) type
  join holdfast_job head on head.seq = (
           select job.seq from holdfast_job job
            where job.status = 'pending' and job.type = type.value
            order by job.priority desc, job.scheduled_at, job.seq
            limit 1)
 where type.value not in (select paused.type from holdfast_paused paused)

-- claim_next_head: the best of a type's pending jobs below a priority, due or not.
select priority, scheduled_at
  from holdfast_job
 where status = 'pending' and type = :type and priority < :priority
 order by priority desc, scheduled_at, seq
 limit 1

-- claim_due: the due jobs of one type and priority, best first.
-- One priority at a time: across priorities the index would walk over everything that is scheduled for later.
select scheduled_at, seq
  from holdfast_job
 where status = 'pending' and type = :type and priority = :priority and scheduled_at <= :now
 order by scheduled_at, seq
 limit :limit

-- claimed_before: what a claim that was not answered had taken, best first.
select record.* from holdfast_record record
 where record.status = 'running' and record.type in (select value from json_each(:types)) and record.token = :token
 order by record.priority desc, record.scheduled_at, record.seq
