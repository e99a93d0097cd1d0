-- include: ended_chains
-- include: change
-- include: references
-- include: error_text
-- include: blocker_rules
-- lazy: hooks
-- release_dependents: update the jobs that wait for an ended chain.
local RELEASED_AT_ONCE = 100

-- unreleased: whether a completed chain has not updated this dependent yet.
local function unreleased(job, chain)
  local progress = redis.call('HGET', releasing_key, COMPLETED_CHAIN .. chain)
  if progress then
    local position, last = string.match(progress, '^(%d+) (%d+)$')
    return tonumber(position) < job.seq and job.seq <= tonumber(last)
  end
  return false
end

-- blocker_completed: a blocker of this job completed.
local function blocker_completed(job, times, unblocked)
  job.open_blockers = job.open_blockers - times
  if job.open_blockers == 0 and job.status == BLOCKED then
    leave_status(job)
    job.status = PENDING
    job.scheduled_at = due_at(job.scheduled_at)
    enter_status(job, 'unblocked')
    unblocked[#unblocked + 1] = job.id
    unblocked[#unblocked + 1] = job.type
  else
    save(job)
  end
end

-- cancel: cancel a job that waited for a failure, because all its blockers completed.
function rules.cancel(job, unblocked)
  leave_status(job)
  job.status, job.finished_at, job.open_blockers = rules.CANCELLED, now, 0
  local message = 'the chains whose failure this job waited for have completed'
  enter_status(job, 'cancelled', 'e', error_text('BlockersCompleted', message))
  counters.job('cancelled', job)
  chain_ended(chain_of(job), BROKEN_CHAIN, unblocked)
end

-- blocker_ended: a blocker of a job with `when=` ended. Look at all its blockers when none seems to be open.
function rules.blocker_ended(job, how, unblocked)
  if job.status ~= BLOCKED then
    return
  end
  local status, left = BLOCKED, job.open_blockers - 1
  if how == BROKEN_CHAIN and job.on_blocker_failure == rules.FAILED then
    status = PENDING
  elseif left <= 0 then
    status, left = rules.status(job.on_blocker_failure, references.blockers_of(job), {})
  end
  if status == PENDING then
    leave_status(job)
    job.status, job.open_blockers, job.scheduled_at = PENDING, 0, due_at(job.scheduled_at)
    enter_status(job, 'unblocked')
    unblocked[#unblocked + 1] = job.id
    unblocked[#unblocked + 1] = job.type
  elseif status == rules.CANCELLED then
    rules.cancel(job, unblocked)
  else
    job.open_blockers = left
    save(job)
  end
end

-- fail_with: fail a blocked job because a blocker did not complete. Its own chain is then broken too.
local function fail_with(job, chain, unblocked)
  local message = 'chain ' .. chain .. ', which this job waited for, did not complete'
  leave_status(job)
  job.status, job.finished_at = FAILED, now
  enter_status(job, 'failed', 'e', error_text('BlockerFailed', message))
  local fingerprint = 'BlockerFailed:' .. job.type
  join_group(job, fingerprint)
  counters.job('failed', job, fingerprint, '["BlockerFailed","a blocker did not complete",""]')
  if job.details then
    need_hooks()
    start_hook(job, 'BlockerFailed: ' .. message)
  end
  chain_ended(chain_of(job), BROKEN_CHAIN, unblocked)
end

-- next_dependents: the next members and their numbers, in order.
local function next_dependents(entry, limit)
  local rows = {}
  local keys = { references.dependents_key(entry.chain), entry.how == COMPLETED_CHAIN and references.stopped_key(entry.chain) or nil }
  for _, key in ipairs(keys) do
    local found = redis.call(
      'ZRANGEBYSCORE', key, '(' .. int(entry.position), int(entry.last), 'WITHSCORES', 'LIMIT', 0, limit
    )
    for n = 1, #found, 2 do
      rows[#rows + 1] = { member = found[n], seq = tonumber(found[n + 1]) }
    end
  end
  table.sort(rows, function(a, b)
    return a.seq < b.seq
  end)
  return rows
end

local function save_position(entry)
  redis.call('HSET', releasing_key, entry.how .. entry.chain, int(entry.position) .. ' ' .. int(entry.last))
end

-- release_next: update up to `limit` dependents. Returns how many.
local function release_next(entry, limit)
  for n, row in ipairs(next_dependents(entry, limit + 1)) do
    if n > limit then
      save_position(entry)
      return limit
    end
    local job, times = references.read_member(row.member)
    if rules.waits(job) then
      rules.blocker_ended(job, entry.how, entry.unblocked)
    elseif entry.how == COMPLETED_CHAIN then
      blocker_completed(job, times, entry.unblocked)
    elseif job.status == BLOCKED and job.on_blocker_failure == 'fail' then
      fail_with(job, entry.chain, entry.unblocked)
    end
    entry.position = row.seq
    entry.count = n
  end
  redis.call('HDEL', releasing_key, entry.how .. entry.chain)
  return entry.count
end

-- release_all: update the dependents of these chains, and of chains that fail with them, `left` of them at most.
local function release_all(chains, left)
  local n = 1
  while n <= #chains do
    local entry = chains[n]
    if left > 0 then
      left = left - release_next(entry, left)
    elseif redis.call('EXISTS', references.dependents_key(entry.chain), references.stopped_key(entry.chain)) > 0 then
      save_position(entry)
    end
    n = n + 1
  end
  return redis.call('EXISTS', releasing_key) == 1 and 'more' or ''
end
