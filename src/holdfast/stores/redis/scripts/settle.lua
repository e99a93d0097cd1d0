-- settle: write the outcomes of attempts, each under its claim, with its continuation, starts and dependents.
-- flags: allow-oom
-- include: change
-- include: release_ended
-- lazy: create
-- lazy: continuation
-- lazy: removed_jobs
-- lazy: suspension
-- op: a list of { job id, token, status, outcome, output, error, delay, at, keep, ahead, continuation, starts, expected,
-- fingerprint, summary, begun, waits },
-- without trailing nils. The answer: 'more' if dependents are left to release, then one result per settlement.
redis.call('DEL', KEYS[2])

-- load_claimed: a job, and whether it has an error of an earlier attempt.
local function load_claimed(id)
  local job = loaded[id]
  if job then
    job.has_error = redis.call('HEXISTS', job_key(id), 'e') == 1
  elseif job == nil then
    local row = redis.call('HMGET', job_key(id), 's', 'e')
    job = row[1] and unpack_job(id, row[1])
    loaded[id] = job
    if job then
      job.has_error = row[2] and true
    end
  end
  return job or nil
end

local function clear_error(job)
  if job.has_error then
    redis.call('HDEL', job_key(job.id), 'e')
  end
end

local function complete(job, token, output, continuation, unblocked)
  local worker = job.worker
  leave_status(job)
  counters.settled('completed', job)
  if continuation then
    add(continuation)
  end
  clear_claim(job, token)
  job.worker, job.status, job.finished_at = worker, COMPLETED, now
  clear_error(job)
  enter_status(job, 'completed', 'o', output, continuation ~= nil)
  if not continuation then
    chain_ended(chain_of(job), COMPLETED_CHAIN, unblocked)
  end
end

local COUNTED = { [FAILED] = 'failed', [CANCELLED] = 'cancelled' }

-- count_ended: count an attempt that did not complete its job. Released and mismatched attempts are not counted, but the
-- failure of a job whose input no worker could read is counted.
local function count_ended(job, status, outcome, fingerprint, summary)
  local kind = COUNTED[status] or outcome == 'failed' and 'retried' or outcome == 'rescheduled' and outcome
  if kind and outcome == 'mismatched' then
    counters.job(kind, job, fingerprint, summary)
  elseif kind then
    counters.settled(kind, job, fingerprint, summary)
  end
end

local function settle(job, token, status, outcome, error, due, fingerprint, summary, begun, unblocked)
  if outcome == 'released' and status == PENDING then
    end_attempt(job, 'released', nil, job.scheduled_at, token)
    if not begun and has_lanes(job) then
      need_lanes()
      lanes.refund(job)
    end
    leave_status(job)
    clear_claim(job, token)
    job.status, job.attempt = PENDING, job.attempt - 1
    enter_status(job, 'released')
    return
  end
  count_ended(job, status, outcome, fingerprint, summary)
  end_attempt(job, outcome, error, status == PENDING and due or nil, token)
  leave_status(job)
  local mismatches, mismatched_at = (job.mismatches or 0) + 1, job.mismatched_at or now
  clear_claim(job, token)
  job.status = status
  if outcome == 'mismatched' then
    job.attempt = job.attempt - 1
    if status == PENDING then
      job.mismatches, job.mismatched_at = mismatches, mismatched_at
    end
  end
  if not error then
    clear_error(job)
  end
  if status == PENDING then
    job.scheduled_at = due
    enter_status(job, (outcome == 'rescheduled' or outcome == 'mismatched') and outcome or 'retrying', 'e', error)
  else
    job.finished_at = now
    enter_status(job, status == FAILED and 'failed' or 'cancelled', 'e', error)
    join_group(job, status == FAILED and fingerprint)
    chain_ended(chain_of(job), BROKEN_CHAIN, unblocked)
  end
end

-- settled_before: whether the worker settled one of the last attempts this way, even if another worker has the job now.
local ATTEMPTS_CHECKED = 20

local function settled_before(id, token, outcome)
  local past = redis.call('LRANGE', prefix .. 'h:' .. id, -2 * ATTEMPTS_CHECKED, -1)
  for n = 1, #past, 2 do
    local attempt = cmsgpack.unpack(past[n])
    if attempt[8] == token and attempt[5] == outcome then
      return true
    end
  end
  return false
end

-- already_written: whether this settlement is written, or was until its job was removed. A worker that got no reply may
-- send it again, also as a new request.
local function already_written(id, job, token, status, outcome)
  if job and (job.token == token and job.status == status or resent and settled_before(id, token, outcome)) then
    return true
  end
  -- Records are per id, and another job may have the id now.
  need_removed_jobs()
  for _, removal in ipairs(removed_jobs(id)) do
    if removal[3] == status and removal[4] == token then
      return true
    end
  end
  return false
end

local function settle_one(settlement)
  local id, token, status = settlement[1], settlement[2], settlement[3]
  local job = load_claimed(id)
  local reason = lost_reason(job, token)
  if reason then
    return already_written(id, job, token, status, settlement[4]) and 'ok' or { 'lost', reason }
  end
  local starts, continuation = {}, nil
  if settlement[11] or settlement[12] then
    need_create()
    starts = read_all_new(settlement[12])
    continuation = settlement[11] and read_new(settlement[11])
    local refused = refused_starts(starts, settlement[13])
    if refused then
      return refused
    end
    if continuation and continuation.after then
      need_continuation()
      refused = refused_continuation(continuation, starts, settlement[13])
      if refused then
        return refused
      end
    end
  end
  if #starts > 0 then
    start_all(starts, (preview(starts)))
  end
  if settlement[10] then
    job.started_at = tonumber(job.started_at) + settlement[10]
  end
  if settlement[17] then
    need_suspension()
    suspend(job, token, settlement[17])
    clear_error(job)
    return { 'ok' }
  end
  job.keep = settlement[9] or job.keep
  local unblocked = { 'ok' }
  if status == COMPLETED then
    complete(job, token, payload(settlement[5]), continuation, unblocked)
  else
    local due = due_at(settlement[8], settlement[7] or 0)
    local error, failure, summary, begun = payload(settlement[6]), settlement[14], settlement[15], settlement[16]
    settle(job, token, status, settlement[4], error, due, failure, summary, begun, unblocked)
  end
  return unblocked
end

local answer = { '' }
for n, settlement in ipairs(op) do
  answer[n + 1] = settle_one(settlement)
end
answer[1] = release_dependents()
if resent and redis.call('EXISTS', releasing_key) == 1 then
  answer[1] = 'more'
end
for n, each in ipairs(answer) do
  if type(each) == 'table' and #each == 1 then
    answer[n] = 'ok'
  end
end
finish()
return answer
