-- get_stats: per type, the jobs per status, the due and scheduled jobs, the oldest due time, and whether it is paused.
-- flags: no-writes
-- include: pending_sets
local counted = redis.call('HGETALL', prefix .. 'counts')
local priorities, paused = read_pending_sets()
local types, seen = {}, {}
local function see(type)
  if not seen[type] then
    seen[type] = { counts = {} }
    types[#types + 1] = type
  end
  return seen[type]
end
for n = 1, #counted, 2 do
  local status, type = string.sub(counted[n], 1, 1), string.sub(counted[n], 2)
  table.insert(see(type).counts, status)
  table.insert(see(type).counts, counted[n + 1])
end
for type in pairs(priorities) do
  see(type)
end
for type in pairs(paused) do
  see(type)
end

local answer = {}
for _, type in ipairs(types) do
  local due, scheduled, oldest = 0, 0, nil
  for _, priority in ipairs(priorities[type] or {}) do
    local key = pending_key(type, priority)
    local due_here = redis.call('ZCOUNT', key, '-inf', int(now))
    due = due + due_here
    scheduled = scheduled + redis.call('ZCARD', key) - due_here
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if due_here > 0 and (not oldest or tonumber(first[2]) < oldest) then
      oldest = tonumber(first[2])
    end
  end
  -- Jobs with lanes.
  local due_here = redis.call('ZCOUNT', prefix .. 'laned:' .. type, '-inf', int(now))
  due = due + due_here
  scheduled = scheduled + redis.call('ZCARD', prefix .. 'laned:' .. type) - due_here
  local first_laned = due_here > 0 and redis.call('ZRANGE', prefix .. 'laned:' .. type, 0, 0, 'WITHSCORES')
  if first_laned and (not oldest or tonumber(first_laned[2]) < oldest) then
    oldest = tonumber(first_laned[2])
  end
  local counts = seen[type].counts
  for status, number in pairs({ [PENDING] = due + scheduled, [RUNNING] = redis.call('ZCARD', running_key(type)) }) do
    if number > 0 then
      table.insert(counts, status)
      table.insert(counts, int(number))
    end
  end
  -- A type without jobs is left out, unless it is paused.
  if #counts > 0 or paused[type] then
    local first = oldest and int(oldest) or false
    answer[#answer + 1] = { type, int(due), int(scheduled), first, paused[type] and 'paused' or '', counts }
  end
end
return answer
