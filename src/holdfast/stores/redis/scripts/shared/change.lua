-- include: hints
-- include: enter_pending
-- include: index
-- include: details
-- lazy: references
-- lazy: lanes
-- change: every change of a job's status. `leave_status`, change the fields, then `enter_status`.
local function list_by_status(job, there)
  if LISTED[job.status] then
    index_add(listed_jobs(job.status), job.id, there and job.seq)
    index_add(listed_chains(job.status), chain_of(job), there and load(chain_of(job)).seq)
  end
end

-- join_group: a job failed with an error of this group.
local function join_group(job, fingerprint)
  if fingerprint then
    redis.call('HSET', job_key(job.id), 'f', fingerprint)
    index_add(prefix .. 'gj:' .. fingerprint, job.id, job.seq)
    index_add(prefix .. 'gc:' .. fingerprint, chain_of(job), load(chain_of(job)).seq)
  end
end

local function leave_group(job)
  local fingerprint = redis.call('HGET', job_key(job.id), 'f')
  if fingerprint then
    redis.call('HDEL', job_key(job.id), 'f')
    index_remove(prefix .. 'gj:' .. fingerprint, job.id)
    index_remove(prefix .. 'gc:' .. fingerprint, chain_of(job))
  end
end

local function leave_status(job)
  local member = (job.status == PENDING or job.status == RUNNING) and index_member(job)
  if has_lanes(job) then
    need_lanes()
    lanes.left(job, member)
  end
  count(job, -1)
  if job.status == FAILED then
    leave_group(job)
  end
  list_by_status(job, false)
  if job.status == PENDING then
    index_remove(pending_key(job.type, job.priority), member)
  elseif job.status == RUNNING then
    index_remove(running_key(job.type), member)
  elseif FINISHED[job.status] then
    index_remove(prefix .. 'expiring', chain_of(job))
  end
end

-- A finished job is the last of its chain, unless a continuation follows it.
local function enter_finished(job)
  local chain = chain_of(job)
  finished[chain] = true
  if job.keep then
    index_add(prefix .. 'expiring', chain, plus(job.finished_at, job.keep))
  end
  local first = load(chain)
  if first and first.key then
    redis.call('ZREM', key_set('open', first), chain)
    if job.status == COMPLETED then
      redis.call('ZADD', key_set('done', first), int(first.seq), chain)
    end
  end
end

-- enter_status: save a changed job, add it to its indexes and record the event `kind`; `field` and `bytes` are a payload.
local function enter_status(job, kind, field, bytes, handed_over)
  count(job, 1)
  save(job, field, bytes)
  list_by_status(job, true)
  if job.status == PENDING then
    if not has_lanes(job) or string.byte(job.details) ~= SHORT and not string.find(job.details, '"track":', 1, true) then
      enter_pending(job)
    end
  elseif job.status == RUNNING then
    index_add(running_key(job.type), index_member(job), job.leased_until)
  elseif FINISHED[job.status] then
    if job.blockers > 0 then
      need_references()
      references.remove_dependent(job)
    end
    if not handed_over then
      enter_finished(job)
    end
  end
  if has_lanes(job) then
    need_lanes()
    lanes.entered(job, kind, handed_over)
  end
  record_event(job, kind)
end

-- clear_claim: end the claim of a job. The token stays if a resent settlement must be recognised.
local function clear_claim(job, token)
  job.worker, job.token, job.leased_until, job.renewed_at = nil, token, nil, nil
  job.mismatches, job.mismatched_at = nil, nil
end

-- end_attempt: add an attempt that did not complete the job to its history. The token is only given if the attempt's own
-- worker settled it.
local function end_attempt(job, outcome, error, next_at, token)
  local past = '\152'
    .. cmsgpack.pack(job.attempt, job.worker, job.started_at, now, outcome, next_at, error and true or false, token)
  redis.call('RPUSH', prefix .. 'h:' .. job.id, past, error or '')
end

-- lost_reason: why a claim is no longer valid; nil if it is valid.
local function lost_reason(job, token)
  if not job then
    return 'not_found'
  elseif job.status == RUNNING and job.token == token then
    return nil
  elseif job.status == CANCELLED then
    return 'cancelled'
  elseif job.status == COMPLETED then
    return 'already_completed'
  end
  return 'taken_by_another_worker'
end
