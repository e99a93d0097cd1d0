-- busy: some of the running jobs of a type, each after its worker. Part of get_workers.
-- flags: no-writes
-- include: index
-- op: { type, cursor ('0' at first) }. The answer begins with the next cursor, '0' at the end. A job may be found twice.
local found = redis.call('ZSCAN', running_key(op[1]), op[2], 'COUNT', 100)
local answer = { found[1] }
for n = 1, #found[2], 2 do
  local job = load(member_id(found[2][n]))
  if job and job.worker then
    answer[#answer + 1] = job.worker
    answer[#answer + 1] = job.id
  end
end
return answer
