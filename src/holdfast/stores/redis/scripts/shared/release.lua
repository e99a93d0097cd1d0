-- include: ended
-- include: change
-- include: references
-- include: error
-- release: tell the jobs that wait for a chain that it ended.
local TOLD_AT_ONCE = 100

-- unreleased: whether a completed chain has still to tell this job.
local function unreleased(job, chain)
  local progress = redis.call('HGET', releasing_key, COMPLETED_CHAIN .. chain)
  if progress then
    local told, last = string.match(progress, '^(%d+) (%d+)$')
    return tonumber(told) < job.seq and job.seq <= tonumber(last)
  end
  return false
end

-- count_off: a chain that this job waited for is completed.
local function count_off(job, times, unblocked)
  job.open_blockers = job.open_blockers - times
  if job.open_blockers == 0 and job.status == BLOCKED then
    leave(job)
    job.status = PENDING
    job.scheduled_at = due_at(job.scheduled_at)
    enter(job, 'unblocked')
    unblocked[#unblocked + 1] = job.id
    unblocked[#unblocked + 1] = job.type
  else
    save(job)
  end
end

-- fail_with: fail a blocked job because a chain it waits for did not complete; so its own chain is broken too.
local function fail_with(job, chain)
  local message = 'chain ' .. chain .. ', which this job waited for, did not complete'
  leave(job)
  job.status, job.finished_at = FAILED, now
  enter(job, 'failed', 'e', error_text('BlockerFailed', message))
  chain_ended(chain_of(job), BROKEN_CHAIN)
end

-- next_to_tell: the next members and numbers, in order.
local function next_to_tell(entry, limit)
  local rows = {}
  local keys = { dependents_key(entry.chain), entry.how == COMPLETED_CHAIN and stopped_key(entry.chain) or nil }
  for _, key in ipairs(keys) do
    local found = redis.call(
      'ZRANGEBYSCORE', key, '(' .. int(entry.told), int(entry.last), 'WITHSCORES', 'LIMIT', 0, limit
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

local function remember_place(entry)
  redis.call('HSET', releasing_key, entry.how .. entry.chain, int(entry.told) .. ' ' .. int(entry.last))
end

-- tell: tell up to `limit` jobs; answers how many.
local function tell(entry, limit)
  for n, row in ipairs(next_to_tell(entry, limit + 1)) do
    if n > limit then
      remember_place(entry)
      return limit
    end
    local job, times = read_member(row.member)
    if entry.how == COMPLETED_CHAIN then
      count_off(job, times, entry.unblocked)
    elseif job.status == BLOCKED and job.on_blocker_failure == 'fail' then
      fail_with(job, entry.chain)
    end
    entry.told = row.seq
    entry.count = n
  end
  redis.call('HDEL', releasing_key, entry.how .. entry.chain)
  return entry.count
end

-- tell_all: tell whom these chains concern, and whom those that fail with them, so many at most.
local function tell_all(chains, left)
  local n = 1
  while n <= #chains do
    local entry = chains[n]
    if left > 0 then
      left = left - tell(entry, left)
    elseif redis.call('EXISTS', dependents_key(entry.chain), stopped_key(entry.chain)) > 0 then
      remember_place(entry)
    end
    n = n + 1
  end
  return redis.call('EXISTS', releasing_key) == 1 and 'more' or ''
end
