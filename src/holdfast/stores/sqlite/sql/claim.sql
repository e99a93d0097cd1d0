-- claim: hold these jobs.
-- +status: by seq, not by the index of all that is pending.
update holdfast_job
   set status = 'running', attempt = attempt + 1, max_attempts = coalesce(max_attempts, :max_attempts),
       worker = :worker, token = :token, leased_until = :leased_until, renewed_at = :now, started_at = :now,
       progress = null, progress_note = null
 where seq in (select value from json_each(:seqs)) and +status = 'pending'
