-- next_due: the time until a pending job of these unpaused types is due, or a lease of these types ends.
-- flags: no-writes
-- include: pending_sets
-- op: types
local priorities, paused = read_pending_sets()
local soonest
local function consider(key)
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  local moment = first[2] and tonumber(first[2])
  if moment and (not soonest or moment < soonest) then
    soonest = moment
  end
end
for _, type in ipairs(op) do
  if not paused[type] then
    for _, priority in ipairs(priorities[type] or {}) do
      consider(pending_key(type, priority))
    end
  end
  consider(running_key(type))
end
-- The tracks of jobs with lanes, and the rates that allow more attempts at some time.
if redis.call('HEXISTS', root, 'lanes') == 1 then
  for _, type in ipairs(op) do
    if not paused[type] then
      if redis.call('EXISTS', prefix .. 'ready:' .. type) == 1 then
        soonest = now
      end
      consider(prefix .. 'timed:' .. type)
    end
  end
  consider(prefix .. 'wakes')
end
return soonest and int(math.max(0, soonest - now)) or false
