-- get_dependents: the unfinished jobs that name a chain as a blocker, oldest first.
-- flags: no-writes
-- include: references
-- op: { chain id, most }
local answer = {}
for _, member in ipairs(redis.call('ZRANGE', references.dependents_key(op[1]), 0, op[2] - 1)) do
  local job = references.read_member(member)
  if job then
    show(answer, job.id)
  end
end
return answer
