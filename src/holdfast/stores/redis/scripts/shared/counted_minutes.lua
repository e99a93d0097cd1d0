-- include: arguments
-- counted_minutes: the minutes that a read of counters or errors covers.
-- op: { since or false, last or false, minutes kept }
local minute = math.floor(now / 60000000)
local first_minute = minute - op[3] + 1
if op[1] then
  first_minute = math.max(first_minute, math.floor(tonumber(op[1]) / 60000000))
end
if op[2] then
  first_minute = math.max(first_minute, math.floor((now - tonumber(op[2])) / 60000000) + 1)
end

-- add_minutes: append each minute that has a hash under this key, and the hash.
local function add_minutes(answer, key)
  for each = first_minute, minute do
    local values = redis.call('HGETALL', prefix .. key .. int(each))
    if #values > 0 then
      answer[#answer + 1], answer[#answer + 2] = int(each), values
    end
  end
  return answer
end
