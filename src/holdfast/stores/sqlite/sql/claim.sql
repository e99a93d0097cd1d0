-- claim: assign these jobs to a worker, under a new token and lease.
-- +status: find the rows by seq. Without the plus SQLite may read the index of all pending jobs.
update holdfast_job
   set status = 'running', attempt = attempt + 1, max_attempts = coalesce(max_attempts, :max_attempts),
       worker = :worker, token = :token, leased_until = :leased_until, renewed_at = :now, started_at = :now,
       progress = null, progress_note = null
 where seq in (select value from json_each(:seqs)) and +status = 'pending'

-- claim_chosen: the same for jobs with lanes. `own`: their track has one lane, and the permits are in their rows.
-- One statement takes half of the time of a statement per job.
update holdfast_job
   set status = 'running', attempt = attempt + 1, max_attempts = coalesce(max_attempts, :max_attempts),
       worker = :worker, token = :token, leased_until = :leased_until, renewed_at = :now, started_at = :now,
       progress = null, progress_note = null,
       lane = case when :own then (select coalesce(track.lane, json_extract(track.lanes, '$[0]')) from holdfast_track track
                                    where track.seq = holdfast_job.track_seq) end
 where seq in (select value from json_each(:seqs)) and +status = 'pending'

-- claim_fresh: the columns that differ between jobs that have never run, and whether the job has other values.
-- Reading a column takes about 50 ns, an empty one half of it, and most of the 32 columns of a record are empty or known.
select seq, id, nullif(chain_id, id), chain_index, priority, max_attempts, input, key, created_at, scheduled_at, timeout,
       keep, details, dedup_for,
       case when attempt > 0 or output is not null or error is not null or worker is not null or token is not null
                 or leased_until is not null or renewed_at is not null or progress is not null
                 or progress_note is not null or started_at is not null or finished_at is not null or blockers > 0
                 or open_blockers <> 0 or on_blocker_failure <> 'wait' or mismatches is not null
                 or mismatched_at is not null
            then 1 end
  from holdfast_job
 where seq in (select value from json_each(:seqs))

-- claim_heads: the first pending job of each type that is not paused, due or not.
select type.value, head.priority, head.scheduled_at
  from json_each(:types) type
  join holdfast_job head on head.seq = (
           select job.seq from holdfast_job job
            where job.status = 'pending' and job.type = type.value and job.track_seq is null
            order by job.priority desc, job.scheduled_at, job.seq
            limit 1)
 where type.value not in (select paused.type from holdfast_paused paused)

-- claim_next_head: the first pending job of a type below a priority, due or not.
select priority, scheduled_at
  from holdfast_job
 where status = 'pending' and type = :type and track_seq is null and priority < :priority
 order by priority desc, scheduled_at, seq
 limit 1

-- claim_due: the due jobs of one type and priority, earliest first.
-- One priority at a time: across priorities SQLite would read the index entries of all jobs scheduled for later.
select scheduled_at, seq
  from holdfast_job
 where status = 'pending' and type = :type and track_seq is null and priority = :priority and scheduled_at <= :now
 order by scheduled_at, seq
 limit :limit

-- claimed_before: the jobs that a claim with this token has already taken. Its result was lost.
select record.* from holdfast_record record
 where record.status = 'running' and record.type in (select value from json_each(:types)) and record.token = :token
 order by record.priority desc, record.scheduled_at, record.seq
