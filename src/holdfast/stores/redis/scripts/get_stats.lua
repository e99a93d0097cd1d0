-- get_stats: per type, how many jobs stand where, how many are due, since when, and whether it is paused.
-- flags: no-writes
-- include: index
local counted = redis.call('HGETALL', prefix .. 'counts')
local types, seen = {}, {}
local function see(type)
  if not seen[type] then
    seen[type] = { counts = {} }
    types[#types + 1] = type
  end
  return seen[type]
end
for n = 1, #counted, 2 do
  table.insert(see(string.sub(counted[n], 2)).counts, string.sub(counted[n], 1, 1))
  table.insert(seen[string.sub(counted[n], 2)].counts, counted[n + 1])
end
for _, type in ipairs(redis.call('SMEMBERS', prefix .. 'paused')) do
  see(type).paused = true
end

local answer = {}
for _, type in ipairs(types) do
  local due, scheduled, oldest = 0, 0, nil
  for _, priority in ipairs(redis.call('ZRANGE', priorities_key(type), 0, -1)) do
    local key = pending_key(type, priority)
    local due_here = redis.call('ZCOUNT', key, '-inf', int(now))
    due = due + due_here
    scheduled = scheduled + redis.call('ZCARD', key) - due_here
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if due_here > 0 and (not oldest or tonumber(first[2]) < oldest) then
      oldest = tonumber(first[2])
    end
  end
  local row = { type, int(due), int(scheduled), oldest and int(oldest), seen[type].paused and 'paused' or '' }
  row[4] = row[4] or false
  row[6] = seen[type].counts
  answer[#answer + 1] = row
end
return answer
