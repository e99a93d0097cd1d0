-- get_history: a job and some of its past attempts, oldest first.
-- flags: no-writes
-- include: job
-- op: { job id, how many to skip, most }
local answer = {}
show(answer, op[1])
-- Each attempt is two values.
local first, last = op[2] * 2, (op[2] + op[3]) * 2 - 1
for _, value in ipairs(redis.call('LRANGE', prefix .. 'h:' .. op[1], first, last)) do
  answer[#answer + 1] = value
end
return answer
