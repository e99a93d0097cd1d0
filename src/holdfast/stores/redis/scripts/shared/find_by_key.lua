-- include: chain
-- include: index
-- find_by_key: the chain that a job's key finds.
local function excluded(job, chain)
  for _, id in ipairs(job.exclude or {}) do
    if id == chain then
      return true
    end
  end
  return false
end

local LOOK = 50

-- newest: the newest chain of a set within the job's window and exclusions, and its number. Chains for which
-- `expired_chain` is true are skipped, and collected in `skipped`.
-- The set is read from the newest chain on, so the first chain outside of the window ends the search.
local function newest(key, job, expired_chain, skipped)
  local from, rows = 0, nil
  repeat
    rows = redis.call('ZREVRANGE', key, from, from + LOOK - 1, 'WITHSCORES')
    for n = 1, #rows, 2 do
      local chain = rows[n]
      if job.window and load(chain).created_at <= now - tonumber(job.window) then
        return nil
      elseif expired_chain and expired_chain(chain) then
        skipped[#skipped + 1] = chain
      elseif not excluded(job, chain) then
        return chain, tonumber(rows[n + 1])
      end
    end
    from = from + LOOK
  until #rows < LOOK * 2
end

-- is_free: whether the key of a completed chain is free, because `dedup_for` has passed or the chain is past its keep time.
local function is_free(chain)
  local last, dedup_for = last_of(chain), load(chain).dedup_for
  if dedup_for then
    return tonumber(plus(last.finished_at, dedup_for)) <= now
  end
  return expired(last)
end

-- newest_completed: the newest completed chain whose key is taken. Others are removed from the set if this script writes.
-- So each is read only once, however many there are.
local function newest_completed(job)
  local skipped = {}
  local chain, seq = newest(key_set('done', job), job, is_free, skipped)
  for _, expired_chain in ipairs(skipped) do
    index_remove(key_set('done', job), expired_chain)
  end
  return chain, seq
end

-- has_begun: whether the first job of a chain runs or has run, or has stored a step.
local function has_begun(chain)
  local status = load(chain).status
  return status ~= PENDING and status ~= BLOCKED or any_exists({ prefix .. 't:' .. chain })
end

-- find_by_key: the newest chain in the job's dedup scope.
-- Unfinished and completed chains of a key have separate sets, so many failed chains do not slow the search down.
local function find_by_key(job)
  if job.scope == 'any' then
    return (newest(key_set('all', job), job))
  end
  if job.scope == 'waiting' then
    return (newest(key_set('open', job), job, has_begun, {}))
  end
  local open, open_seq = newest(key_set('open', job), job)
  if job.scope == 'incomplete' then
    return open
  end
  local done, done_seq = newest_completed(job)
  return done and (not open or done_seq > open_seq) and done or open
end

local function planned_by_key(made, job)
  for n = #made, 1, -1 do
    if not excluded(job, made[n].id) and (not job.window or tonumber(job.window) > 0) then
      return made[n].id
    end
  end
end
