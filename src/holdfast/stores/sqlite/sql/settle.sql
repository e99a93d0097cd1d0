-- settle: write the outcomes of attempts.

-- settle_claims: the jobs of these claims.
-- Reading an empty column takes half of the time of another one: the id of the chain is null if it is that of the job, and
-- flags are null instead of 0.
-- The last columns: whether the job has lanes; the lane whose permit is in the row of the job, null if its chain keeps an
-- order of an earlier job, which the triggers release; whether this lane is an order; and, the same in each row, whether any
-- job has blockers and whether a listener is registered. Any job, not only these: to find out whether these jobs are awaited
-- would need one more search in the index for each.
select job.id, job.seq, job.status, job.token, job.type, nullif(job.chain_id, job.id), job.attempt, job.worker, job.started_at,
       job.scheduled_at, case when job.track is not null or job.in_order is not null then 1 end,
       case when job.in_order is null then job.lane end,
       case when job.lane is not null then exists (select 1 from holdfast_place place where place.chain_id = job.chain_id) end,
       nullif(exists (select 1 from holdfast_blocker), 0),
       nullif(exists (select 1 from holdfast_listener where until > :now), 0)
  from holdfast_job job
 where job.id in (select value from json_each(:ids))

-- settle_completed: complete a job, and its chain unless it continues.
-- The worker stays: no other row names the worker of a completed job. The token stays: it identifies a repeated settlement.
-- Positional parameters are faster than names: one settlement may complete hundreds of jobs. They are: output, when the
-- attempt began, now, now if the chain ends or else null, seq, token. It does not name track, so the triggers of lanes
-- do not run: see the schema.
update holdfast_job
   set status = 'completed', output = ?, error = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null, started_at = ?, finished_at = ?, expires_at = ? + keep
 where seq = ? and status = 'running' and token = ?

-- settle_completed_many: the same for many jobs, with a row of values for each, and then the values that they share.
-- One execution takes less time than one per row. It also releases the interpreter lock for all rows at once.
with done (output, started_at, seq, token) as (values (?, ?, ?, ?))
update holdfast_job
   set status = 'completed', output = done.output, error = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null, started_at = done.started_at, finished_at = ?, expires_at = ? + keep
  from done
 where holdfast_job.seq = done.seq and holdfast_job.status = 'running' and holdfast_job.token = done.token

-- settle_completed_lanes: the same for jobs with lanes. It names track, so the triggers of lanes run.
update holdfast_job
   set track = track, status = 'completed', output = ?, error = null, leased_until = null, renewed_at = null,
       mismatches = null, mismatched_at = null, started_at = ?, finished_at = ?, expires_at = ? + keep
 where seq = ? and status = 'running' and token = ?

-- settle_keep: write the keep time that the handler of a job has set, before the job is completed.
update holdfast_job set keep = ? where seq = ? and status = 'running' and token = ?

-- settle_pending: return a job to pending for another attempt.
update holdfast_job
   set track = track, status = 'pending', error = :error, worker = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       started_at = :started_at, keep = coalesce(:keep, keep),
       scheduled_at = :scheduled_at
 where seq = :seq and status = 'running' and token = :token

-- settle_released: return a job to pending without counting the attempt.
update holdfast_job
   set track = track, status = 'pending', attempt = attempt - 1, counted = case when :begun then counted end, worker = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       started_at = :started_at, keep = coalesce(:keep, keep)
 where seq = :seq and status = 'running' and token = :token

-- settle_suspended: return a job to pending until a sleep ends or a message arrives. The attempt does not count.
-- counted stays: the attempt that continues has the same number, and rates do not count it again.
update holdfast_job
   set track = track, status = 'pending', attempt = attempt - 1, error = null, worker = null, leased_until = null, renewed_at = null,
       mismatches = null, mismatched_at = null, started_at = :started_at, keep = coalesce(:keep, keep), scheduled_at = :scheduled_at
 where seq = :seq and status = 'running' and token = :token

-- settle_mismatched: return a job to pending because this worker cannot decode its input.
update holdfast_job
   set track = track, status = 'pending', attempt = attempt - 1, error = :error, worker = null, leased_until = null, renewed_at = null,
       started_at = :started_at, keep = coalesce(:keep, keep), scheduled_at = :scheduled_at,
       mismatches = coalesce(mismatches, 0) + 1, mismatched_at = coalesce(mismatched_at, :now)
 where seq = :seq and status = 'running' and token = :token

-- settle_ended: end a job as failed or cancelled.
update holdfast_job
   set track = track, status = :status, attempt = attempt - :given_back, error = :error, fingerprint = :fingerprint, worker = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       started_at = :started_at, keep = coalesce(:keep, keep),
       finished_at = :now, expires_at = :now + coalesce(:keep, keep)
 where seq = :seq and status = 'running' and token = :token
