-- get_steps: the steps of these jobs, in no particular order.
-- flags: no-writes
-- include: steps
-- op: job ids
local answer = {}
for n, id in ipairs(op) do
  answer[n] = redis.call('HVALS', steps.key(id))
end
return answer
