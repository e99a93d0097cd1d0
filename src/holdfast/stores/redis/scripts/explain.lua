-- explain: one job, and what decides whether it is claimed: the time, whether its type is paused, the due jobs ahead.
-- flags: no-writes
-- include: pending_sets
-- include: chain
-- include: steps
-- op: { id, whether the id of a chain means its current job }. The conditions are those of claim.
local id = op[2] and is_chain(op[1]) and last_id(op[1]) or op[1]
local job = load(id)
if not job then
  return {}
end

local ahead = 0
if job.status == PENDING and tonumber(job.scheduled_at) <= now then
  local own = tonumber(job.priority)
  for _, priority in ipairs(read_pending_sets()[job.type] or {}) do
    if tonumber(priority) > own then
      ahead = ahead + redis.call('ZCOUNT', pending_key(job.type, priority), '-inf', int(now))
    elseif tonumber(priority) == own then
      ahead = ahead + (redis.call('ZRANK', pending_key(job.type, priority), index_member(job)) or 0)
    end
  end
end

local answer = {}
show(answer, id)
answer[#answer + 1] = int(now)
answer[#answer + 1] = redis.call('HEXISTS', root, PAUSED .. job.type) == 1 and 'paused' or ''
answer[#answer + 1] = int(ahead)
-- The messages that a suspended job waits for.
for _, name in ipairs(job.status == PENDING and tonumber(job.scheduled_at) > now and steps.awaited(job) or {}) do
  answer[#answer + 1] = name
end
return answer
