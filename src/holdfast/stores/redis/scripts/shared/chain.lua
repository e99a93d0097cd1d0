-- include: change
-- chain: a chain's jobs, and what its end means for the jobs that wait for it.
local function is_chain(id)
  local job = load(id)
  return job ~= nil and job.chain == nil
end

-- The first job names the chain; only those that follow it are listed.
local function last_id(chain)
  return redis.call('LINDEX', prefix .. 'c:' .. chain, -1) or chain
end

local function last_of(chain)
  return load(last_id(chain))
end

-- expired: whether a chain with this last job is past its keep time, pruned or not.
local function expired(last)
  return last.finished_at and last.keep and tonumber(plus(last.finished_at, last.keep)) <= now
end

-- show_chain: append a chain to an answer: its first job, then its last, or one false where that is the same.
local function show_chain(answer, chain)
  show(answer, chain)
  local last = last_id(chain)
  if last == chain then
    answer[#answer + 1] = false
  else
    show(answer, last)
  end
end

-- chain_completed: count the chain off for every job that waits for it; appends those that wait no longer.
local function chain_completed(chain, unblocked)
  for _, id in ipairs(redis.call('LRANGE', prefix .. 'd:' .. chain, 0, -1)) do
    local job = load(id)
    job.open_blockers = job.open_blockers - 1
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
end

local ESCAPES = { ['"'] = '\\"', ['\\'] = '\\\\', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r',
  ['\t'] = '\\t', ['\0'] = '\\\\0' }

-- error_text: the stored form of an error, as `holdfast.failure` writes it.
local function error_text(type, message)
  message = string.gsub(message, '[%z\1-\31"\\]', function(character)
    return ESCAPES[character] or string.format('\\u%04x', string.byte(character))
  end)
  return '["' .. type .. '","' .. message .. '",""]'
end

-- fail_with: fail a blocked job because a chain it waits for did not complete.
local function fail_with(job, chain)
  local message = 'chain ' .. chain .. ', which this job waited for, did not complete'
  leave(job)
  job.status, job.finished_at = FAILED, now
  enter(job, 'failed', { 'e', error_text('BlockerFailed', message) })
end

-- chain_broken: a chain failed or was cancelled; fail the blocked jobs that asked for it, and so on from them.
local function chain_broken(chain)
  local broken = { chain }
  while #broken > 0 do
    local source = table.remove(broken)
    for _, id in ipairs(redis.call('LRANGE', prefix .. 'd:' .. source, 0, -1)) do
      local job = load(id)
      if job.status == BLOCKED and job.on_blocker_failure == 'fail' then
        fail_with(job, source)
        broken[#broken + 1] = chain_of(job)
      end
    end
  end
end
