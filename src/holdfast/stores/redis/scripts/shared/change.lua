-- include: hints
-- include: pending
-- include: keyed
-- lazy: references
-- change: the one way a job's status changes. `leave` its place, alter the fields, `enter` the new one.
local function list_under(job, there)
  if LISTED[job.status] then
    place(listed_jobs(job.status), job.id, there and job.seq)
    place(listed_chains(job.status), chain_of(job), there and load(chain_of(job)).seq)
  end
end

local function leave(job)
  count(job, -1)
  list_under(job, false)
  if job.status == PENDING then
    displace(pending_key(job.type, job.priority), ranked(job))
  elseif job.status == RUNNING then
    displace(running_key(job.type), ranked(job))
  elseif FINISHED[job.status] then
    displace(prefix .. 'expiring', chain_of(job))
  end
end

-- A job that finishes is the last of its chain, unless it handed over to the next.
local function enter_finished(job)
  local chain = chain_of(job)
  finished[chain] = true
  if job.keep then
    place(prefix .. 'expiring', chain, plus(job.finished_at, job.keep))
  end
  local first = load(chain)
  if first and first.key then
    redis.call('ZREM', keyed(OPEN, first), chain)
    if job.status == COMPLETED then
      redis.call('ZADD', keyed(DONE, first), int(first.seq), chain)
    end
  end
end

-- enter: put a changed job in its place, under the word for what happened to it; with a payload where one is given.
local function enter(job, kind, field, bytes, handed_over)
  count(job, 1)
  save(job, field, bytes)
  list_under(job, true)
  if job.status == PENDING then
    enter_pending(job)
  elseif job.status == RUNNING then
    place(running_key(job.type), ranked(job), job.leased_until)
  elseif FINISHED[job.status] then
    if job.blockers > 0 then
      need_references()
      stop_waiting(job)
    end
    if not handed_over then
      enter_finished(job)
    end
  end
  note(job, kind)
end

-- let_go: nobody holds the job any more. The token stays where a settlement sent again must be known.
local function let_go(job, token)
  job.worker, job.token, job.leased_until, job.renewed_at = nil, token, nil, nil
  job.mismatches, job.mismatched_at = nil, nil
end

-- end_attempt: keep what the job's row will forget, an attempt that did not complete it; with its token where its own
-- worker settled it.
local function end_attempt(job, outcome, error, next_at, token)
  local past = '\152'
    .. cmsgpack.pack(job.attempt, job.worker, job.started_at, now, outcome, next_at, error and true or false, token)
  redis.call('RPUSH', prefix .. 'h:' .. job.id, past, error or '')
end

-- lost: why a claim no longer holds; nil while it does.
local function lost(job, token)
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
