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

-- Jobs whose number of open blockers changed, by id. Each is saved once, however many of its blockers ended.
local counted_down = {}

-- blocker_completed: a blocker of this job completed.
local function blocker_completed(job, times, unblocked)
  job.open_blockers = job.open_blockers - times
  if job.open_blockers == 0 and job.status == BLOCKED then
    counted_down[job.id] = nil
    leave_status(job)
    job.status = PENDING
    job.scheduled_at = due_at(job.scheduled_at)
    enter_status(job, 'unblocked')
    unblocked[#unblocked + 1] = job.id
    unblocked[#unblocked + 1] = job.type
  else
    counted_down[job.id] = job
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

-- next_dependents: the next members, in the order of their numbers.
local function next_dependents(entry, limit)
  local from, to = '(' .. int(entry.position), int(entry.last)
  local members = redis.call('ZRANGEBYSCORE', references.dependents_key(entry.chain), from, to, 'LIMIT', '0', limit)
  if not references.has_stopped or entry.how ~= COMPLETED_CHAIN then
    return members
  end
  local seq_of = {}
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', references.stopped_key(entry.chain), from, to, 'LIMIT', '0', limit)) do
    members[#members + 1] = member
  end
  for _, member in ipairs(members) do
    seq_of[member] = references.read_member(member).seq
  end
  table.sort(members, function(a, b)
    return seq_of[a] < seq_of[b]
  end)
  return members
end

local function save_position(entry)
  redis.call('HSET', releasing_key, entry.how .. entry.chain, int(entry.position) .. ' ' .. int(entry.last))
end

-- release_next: update up to `limit` dependents. Returns how many, and whether some are left.
local function release_next(entry, limit)
  local count = 0
  for _, member in ipairs(next_dependents(entry, int(limit + 1))) do
    if count == limit then
      save_position(entry)
      return count, true
    end
    local job, times = references.read_member(member)
    if rules.waits(job) then
      rules.blocker_ended(job, entry.how, entry.unblocked)
    elseif entry.how == COMPLETED_CHAIN then
      blocker_completed(job, times, entry.unblocked)
    elseif job.status == BLOCKED and job.on_blocker_failure == 'fail' then
      fail_with(job, entry.chain, entry.unblocked)
    end
    entry.position = job.seq
    count = count + 1
  end
  return count, false
end

-- any_stopped: whether a job finished while one of these chains blocked it.
local function any_stopped(chains)
  local keys = {}
  for n, entry in ipairs(chains) do
    keys[n] = references.stopped_key(entry.chain)
  end
  return any_exists(keys)
end

-- release_all: update the dependents of these chains, and of chains that fail with them, `left` of them at most.
local function release_all(chains, left)
  -- Jobs that fail below may be added to the set of a chain that is released after them.
  references.has_stopped = any_stopped(chains)
  local recorded = redis.call('EXISTS', releasing_key) == 1
  local n, any_left = 1, false
  while n <= #chains do
    local entry, more = chains[n], false
    if left > 0 then
      local count
      count, more = release_next(entry, left)
      left = left - count
    elseif redis.call('EXISTS', references.dependents_key(entry.chain), references.stopped_key(entry.chain)) > 0 then
      save_position(entry)
      more = true
    end
    if recorded and not more then
      redis.call('HDEL', releasing_key, entry.how .. entry.chain)
    end
    any_left = any_left or more
    n = n + 1
  end
  for _, job in pairs(counted_down) do
    save(job)
  end
  counted_down = {}
  return (any_left or recorded and redis.call('EXISTS', releasing_key) == 1) and 'more' or ''
end
