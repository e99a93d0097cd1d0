-- renew: extend leases, each by its own time from now; answers number and reason of each lost claim.
-- flags: allow-oom
-- include: change
-- op: a list of { job id, token, lease }
redis.call('DEL', KEYS[2])
local answer = {}
for n, claim in ipairs(op) do
  local job = load(claim[1])
  local reason = lost_reason(job, claim[2])
  if reason then
    answer[#answer + 1] = int(n)
    answer[#answer + 1] = reason
  else
    job.leased_until, job.renewed_at = plus(now, claim[3]), now
    save(job)
    index_add(running_key(job.type), index_member(job), job.leased_until)
  end
end
finish()
return answer
