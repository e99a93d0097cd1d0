-- get_jobs: the jobs with these ids, in order.
-- flags: no-writes
-- include: job
-- op: job ids
local answer = {}
for _, id in ipairs(op) do
  show(answer, id)
end
return answer
