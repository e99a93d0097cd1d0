-- get_history: a job and its past attempts, oldest first.
-- flags: no-writes
-- include: job
-- op: the job's id
local answer = {}
show(answer, op)
for _, value in ipairs(redis.call('LRANGE', prefix .. 'h:' .. op, 0, -1)) do
  answer[#answer + 1] = value
end
return answer
