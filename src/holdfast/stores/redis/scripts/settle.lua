-- settle: write the outcomes of attempts, each under its claim, with all that follows from it.
-- flags: allow-oom
-- include: create
-- op: a list of { job id, token, status, outcome, output, error, delay, at, continuation, starts, expected, keep }
redis.call('DEL', KEYS[2])

local function complete(job, settled_by, output, continuation)
  leave(job)
  if continuation then
    add(continuation)
  end
  let_go(job, settled_by.token)
  job.worker = settled_by.worker
  job.status, job.finished_at = COMPLETED, now
  if not output then
    redis.call('HDEL', job_key(job.id), 'o', 'e')
  else
    redis.call('HDEL', job_key(job.id), 'e')
  end
  enter(job, 'completed', output and { 'o', output }, continuation ~= nil)
  local unblocked = {}
  if not continuation then
    chain_completed(chain_of(job), unblocked)
  end
  return unblocked
end

local function save_error(job, error)
  if error then
    return { 'e', error }
  end
  redis.call('HDEL', job_key(job.id), 'e')
end

local function settle(job, token, status, outcome, error, due)
  if outcome == 'released' and status == PENDING then
    end_attempt(job, 'released', nil, job.scheduled_at)
    leave(job)
    let_go(job, token)
    job.status, job.attempt = PENDING, job.attempt - 1
    enter(job, 'released')
  elseif status == PENDING then
    end_attempt(job, outcome, error, due)
    leave(job)
    let_go(job, token)
    job.status, job.scheduled_at = PENDING, due
    enter(job, outcome == 'rescheduled' and outcome or 'retrying', save_error(job, error))
  else
    end_attempt(job, outcome, error)
    leave(job)
    let_go(job, token)
    job.status, job.finished_at = status, now
    enter(job, status == FAILED and 'failed' or 'cancelled', save_error(job, error))
    chain_broken(chain_of(job))
  end
end

local function perform(settlement)
  local id, token, status = settlement[1], settlement[2], settlement[3]
  local job = load(id)
  local reason = lost(job, token)
  if reason then
    -- Sent again: what stands written is answered like the first time.
    return job and job.token == token and job.status == status and 'ok' or { 'lost', reason }
  end
  local starts = read_all_new(settlement[10])
  local refused = refused_starts(starts, settlement[11])
  if refused then
    return refused
  end
  local continuation = settlement[9] and read_new(settlement[9])
  local missing = continuation and missing_blocker(continuation, set_of(settlement[11]))
  if missing then
    return { 'ChainNotFound', missing }
  end
  if #starts > 0 then
    start_all(starts, (preview(starts)))
  end
  job.keep = settlement[12] or job.keep
  if status == COMPLETED then
    local unblocked = complete(job, { token = token, worker = job.worker }, payload(settlement[5]), continuation)
    if #unblocked > 0 then
      table.insert(unblocked, 1, 'ok')
      return unblocked
    end
  else
    settle(job, token, status, settlement[4], payload(settlement[6]), due_at(settlement[8], settlement[7]))
  end
  return 'ok'
end

local answer = {}
for n, settlement in ipairs(op) do
  answer[n] = perform(settlement)
end
finish()
return answer
