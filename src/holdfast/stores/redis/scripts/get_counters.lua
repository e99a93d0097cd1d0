-- get_counters: the sums per type and minute, the totals, and the changes that were not added up yet.
-- flags: no-writes
-- include: arguments
-- op: { since or false, last or false, minutes kept }
-- The answer: the time, the first minute, the started jobs, the changes, the totals, then each minute and its sums.
local minute = math.floor(now / 60000000)
local first = minute - op[3] + 1
if op[1] then
  first = math.max(first, math.floor(tonumber(op[1]) / 60000000))
end
if op[2] then
  first = math.max(first, math.floor((now - tonumber(op[2])) / 60000000) + 1)
end
local answer = {
  int(now), int(first), redis.call('HGETALL', prefix .. 'started'), redis.call('LRANGE', prefix .. 'n', 0, -1),
  redis.call('HGETALL', prefix .. 'n:0'),
}
for each = first, minute do
  local sums = redis.call('HGETALL', prefix .. 'n:' .. int(each))
  if #sums > 0 then
    answer[#answer + 1], answer[#answer + 2] = int(each), sums
  end
end
return answer
