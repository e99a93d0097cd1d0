-- read_events: events after a seq, oldest first.
-- flags: no-writes
-- include: arguments
-- op: { after, limit }
local answer = {}
for _, entry in ipairs(redis.call('XRANGE', prefix .. 'events', int(op[1] + 1) .. '-0', '+', 'COUNT', op[2])) do
  answer[#answer + 1] = entry[1]
  answer[#answer + 1] = entry[2][2]
end
return answer
