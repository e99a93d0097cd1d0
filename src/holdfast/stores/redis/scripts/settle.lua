-- settle: write the outcomes of attempts, each under its claim, with all that follows from it.
-- flags: allow-oom
-- include: change
-- include: ending
-- lazy: create
-- lazy: continuing
-- lazy: gone
-- op: a list of { job id, token, status, outcome, output, error, delay, at, keep, continuation, starts, expected },
-- without what is nil at the end. The answer: whether there is more to release, then a word or a list for each.
redis.call('DEL', KEYS[2])

-- load_held: a job, and whether an earlier error stands in its row.
local function load_held(id)
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
  leave(job)
  if continuation then
    add(continuation)
  end
  let_go(job, token)
  job.worker, job.status, job.finished_at = worker, COMPLETED, now
  clear_error(job)
  enter(job, 'completed', 'o', output, continuation ~= nil)
  if not continuation then
    chain_ended(chain_of(job), COMPLETED_CHAIN, unblocked)
  end
end

local function settle(job, token, status, outcome, error, due)
  if outcome == 'released' and status == PENDING then
    end_attempt(job, 'released', nil, job.scheduled_at, token)
    leave(job)
    let_go(job, token)
    job.status, job.attempt = PENDING, job.attempt - 1
    enter(job, 'released')
    return
  end
  end_attempt(job, outcome, error, status == PENDING and due or nil, token)
  leave(job)
  local mismatches, mismatched_at = (job.mismatches or 0) + 1, job.mismatched_at or now
  let_go(job, token)
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
    enter(job, (outcome == 'rescheduled' or outcome == 'mismatched') and outcome or 'retrying', 'e', error)
  else
    job.finished_at = now
    enter(job, status == FAILED and 'failed' or 'cancelled', 'e', error)
    chain_ended(chain_of(job), BROKEN_CHAIN)
  end
end

-- among_the_past: whether this is how the worker settled one of the last attempts, whoever has the job by now.
local LOOKED_AT = 20

local function among_the_past(id, token, outcome)
  local past = redis.call('LRANGE', prefix .. 'h:' .. id, -2 * LOOKED_AT, -1)
  for n = 1, #past, 2 do
    local attempt = cmsgpack.unpack(past[n])
    if attempt[8] == token and attempt[5] == outcome then
      return true
    end
  end
  return false
end

-- written: whether this settlement stands written, or did until its job was removed: it may be sent again, also as a
-- request of its own by a worker that was told nothing of the first.
local function written(id, job, token, status, outcome)
  if job and (job.token == token and job.status == status or resent and among_the_past(id, token, outcome)) then
    return true
  end
  -- Of this id, which another job may have by now.
  need_gone()
  for _, word in ipairs(words_of(id)) do
    if word[3] == status and word[4] == token then
      return true
    end
  end
  return false
end

local function perform(settlement)
  local id, token, status = settlement[1], settlement[2], settlement[3]
  local job = load_held(id)
  local reason = lost(job, token)
  if reason then
    return written(id, job, token, status, settlement[4]) and 'ok' or { 'lost', reason }
  end
  local starts, continuation = {}, nil
  if settlement[10] or settlement[11] then
    need_create()
    starts = read_all_new(settlement[11])
    continuation = settlement[10] and read_new(settlement[10])
    local refused = refused_starts(starts, settlement[12])
    if refused then
      return refused
    end
    if continuation and continuation.after then
      need_continuing()
      refused = refused_continuation(continuation, starts, settlement[12])
      if refused then
        return refused
      end
    end
  end
  if #starts > 0 then
    start_all(starts, (preview(starts)))
  end
  job.keep = settlement[9] or job.keep
  if status == COMPLETED then
    local unblocked = { 'ok' }
    complete(job, token, payload(settlement[5]), continuation, unblocked)
    return unblocked
  end
  settle(job, token, status, settlement[4], payload(settlement[6]), due_at(settlement[8], settlement[7] or 0))
  return 'ok'
end

local answer = { '' }
for n, settlement in ipairs(op) do
  answer[n + 1] = perform(settlement)
end
answer[1] = release()
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
