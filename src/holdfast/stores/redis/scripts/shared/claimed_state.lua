-- include: job
-- claimed_state: the state of a pending job after a claim, the job's type, when its last attempt began, its chain as it is
-- stored, and when the job was due. Nil if the job is not pending. Without `unpack_job`, whose table costs as much as the
-- rest of the claim of a job.
local function claimed_state(state, worker, token, leased_until, default_attempts)
  local seq, created_at, scheduled_at, status, open_blockers, type, chain, index, priority, attempt, max_attempts,
    key, _, _, _, _, _, _, started_at, finished_at, timeout, keep,
    details, blockers, on_blocker_failure, by, mismatches, mismatched_at, dedup_for = cmsgpack.unpack(state)
  if status ~= PENDING then
    return nil
  end
  local claimed = cmsgpack.pack(
    seq, created_at, scheduled_at, RUNNING, open_blockers, type, chain, index,
    priority, attempt + 1, max_attempts or default_attempts, key, worker, token, leased_until, now,
    nil, nil, now, finished_at, timeout, keep, details, blockers,
    on_blocker_failure, by
  )
  local has_tail = mismatches or dedup_for
  return has_tail and claimed .. cmsgpack.pack(mismatches, mismatched_at, dedup_for) or claimed, type, started_at, chain,
    scheduled_at or created_at
end
