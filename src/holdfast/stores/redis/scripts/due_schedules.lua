-- due_schedules: schedules of these types with a due tick, the earliest first, and the next tick that is not due.
-- flags: no-writes
-- include: schedule
-- op: { types, limit }
local due, later = {}, nil
for _, type in ipairs(op[1]) do
  local key = ticks_key(type)
  local rows = redis.call('ZRANGEBYSCORE', key, '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, op[2])
  for n = 1, #rows, 2 do
    due[#due + 1] = { name = rows[n], at = tonumber(rows[n + 1]) }
  end
  local first = redis.call('ZRANGEBYSCORE', key, '(' .. int(now), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  local at = first[2] and tonumber(first[2])
  if at and (not later or at < later) then
    later = at
  end
end
table.sort(due, function(a, b)
  return a.at < b.at or a.at == b.at and a.name < b.name
end)
local answer = { int(now), later and int(later - now) or false }
for n = 1, math.min(#due, op[2]) do
  show_schedule(answer, due[n].name)
end
return answer
