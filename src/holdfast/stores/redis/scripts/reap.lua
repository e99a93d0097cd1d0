-- reap: return running jobs whose lease ended to pending, or fail them; oldest first, except the held claims.
-- flags: allow-oom
-- include: change
-- lazy: hooks
-- include: release_ended
-- include: error_text
-- include: saved_reply
-- op: { types, held claims as { job id, token }, limit }
-- The answer begins with 'more' if ended chains, of this or another script, have dependents to release.
-- shown: the answer with the jobs. Only worker and id of each job are saved for a resend: payloads may be large.
local function shown(reaped)
  local answer = { reaped[1] }
  for n = 2, #reaped, 2 do
    if load(reaped[n + 1]) then
      answer[#answer + 1] = reaped[n]
      show(answer, reaped[n + 1])
    end
  end
  return answer
end

local before = saved_reply()
if before then
  return shown(before)
end
redis.call('DEL', KEYS[2])

local held = {}
for _, claim in ipairs(op[2]) do
  held[claim[1]] = claim[2]
end

local expired = {}
for _, type in ipairs(op[1]) do
  local rows = redis.call(
    'ZRANGEBYSCORE', running_key(type), '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, op[3] + #op[2]
  )
  for n = 1, #rows, 2 do
    expired[#expired + 1] = { member = rows[n], until_ = tonumber(rows[n + 1]), type = type }
  end
end
table.sort(expired, function(a, b)
  return a.until_ < b.until_ or (a.until_ == b.until_ and a.member < b.member)
end)

local LEASE_LOST = '["LeaseLost","lease lost",""]'

local function reap_job(job)
  local message = 'lease lost: worker ' .. (job.worker or 'None') .. ' stopped renewing it'
  local error = error_text('LeaseLost', message)
  lost_claims[job.id] = true
  leave_status(job)
  local retried = not job.max_attempts or job.max_attempts == 0 or job.attempt < job.max_attempts
  end_attempt(job, 'lost', error, retried and now or nil)
  clear_claim(job)
  if retried then
    job.status, job.scheduled_at = PENDING, now
    enter_status(job, 'reaped', 'e', error)
    counters.job('reaped', job, 'LeaseLost:' .. job.type, LEASE_LOST)
  else
    job.status, job.finished_at = FAILED, now
    enter_status(job, 'failed', 'e', error)
    join_group(job, 'LeaseLost:' .. job.type)
    counters.job('reaped', job)
    counters.job('failed', job, 'LeaseLost:' .. job.type, LEASE_LOST)
    if job.details then
      need_hooks()
      start_hook(job, 'LeaseLost: ' .. message)
    end
    chain_ended(chain_of(job), BROKEN_CHAIN)
  end
end

local reaped = { '' }
for _, entry in ipairs(expired) do
  local job = #reaped < op[3] * 2 and load(member_id(entry.member))
  if job and job.status == RUNNING and held[job.id] ~= job.token then
    reaped[#reaped + 1] = job.worker or ''
    reap_job(job)
    reaped[#reaped + 1] = job.id
  end
end
release_dependents()
reaped[1] = redis.call('EXISTS', releasing_key) == 1 and 'more' or ''
finish()
return shown(#reaped > 1 and save_reply(reaped) or reaped)
