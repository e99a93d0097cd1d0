-- get_errors: the error groups, their numbers per minute, and the changes that were not added up yet.
-- flags: no-writes
-- include: arguments
-- op: { since or false, last or false, minutes kept }
-- The answer: the time, the first minute, the groups, the changes, then each minute and its numbers.
local minute = math.floor(now / 60000000)
local first = minute - op[3] + 1
if op[1] then
  first = math.max(first, math.floor(tonumber(op[1]) / 60000000))
end
if op[2] then
  first = math.max(first, math.floor((now - tonumber(op[2])) / 60000000) + 1)
end
local answer = {
  int(now), int(first), redis.call('HGETALL', prefix .. 'eg'), redis.call('LRANGE', prefix .. 'n', 0, -1),
}
for each = first, minute do
  local numbers = redis.call('HGETALL', prefix .. 'ec:' .. int(each))
  if #numbers > 0 then
    answer[#answer + 1], answer[#answer + 2] = int(each), numbers
  end
end
return answer
