-- get_blockers: the chains a job waits or waited for, in the order given when it was created.
-- flags: no-writes
-- include: chain
-- op: the job's id
local answer = {}
for _, chain in ipairs(redis.call('LRANGE', prefix .. 'a:' .. op, 0, -1)) do
  answer[#answer + 1] = 'found'
  show_chain(answer, chain)
end
return answer
