-- include: chain
-- include: keyed
-- by_key: the chain that a job's key finds.
local function excluded(job, chain)
  for _, id in ipairs(job.exclude or {}) do
    if id == chain then
      return true
    end
  end
  return false
end

local LOOK = 50

-- newest: the newest chain of a set that a job's window and exclusions leave, and its number; chains for which `spent`
-- is true do not count, and are gathered in `passed`.
-- Chains are older the further one looks, so one outside the window ends the look.
local function newest(key, job, spent, passed)
  local from, rows = 0, nil
  repeat
    rows = redis.call('ZREVRANGE', key, from, from + LOOK - 1, 'WITHSCORES')
    for n = 1, #rows, 2 do
      local chain = rows[n]
      if job.window and load(chain).created_at <= now - tonumber(job.window) then
        return nil
      elseif spent and spent(chain) then
        passed[#passed + 1] = chain
      elseif not excluded(job, chain) then
        return chain, tonumber(rows[n + 1])
      end
    end
    from = from + LOOK
  until #rows < LOOK * 2
end

local function past_keep(chain)
  return expired(last_of(chain))
end

-- newest_done: the newest completed chain that is still kept. Others are taken out of the set when this script ends,
-- if it writes at all: however many there were, each is looked at once.
local function newest_done(job)
  local passed = {}
  local chain, seq = newest(keyed(DONE, job), job, past_keep, passed)
  for _, spent in ipairs(passed) do
    displace(keyed(DONE, job), spent)
  end
  return chain, seq
end

-- by_key: the newest chain in the job's dedup scope.
-- Unfinished and completed chains of a key have indexes of their own: however many failed, the look stays short.
local function by_key(job)
  if job.scope == 'any' then
    return (newest(keyed(ALL, job), job))
  end
  local open, open_seq = newest(keyed(OPEN, job), job)
  if job.scope == 'incomplete' then
    return open
  end
  local done, done_seq = newest_done(job)
  return done and (not open or done_seq > open_seq) and done or open
end

local function made_by_key(made, job)
  for n = #made, 1, -1 do
    if not excluded(job, made[n].id) and (not job.window or tonumber(job.window) > 0) then
      return made[n].id
    end
  end
end
