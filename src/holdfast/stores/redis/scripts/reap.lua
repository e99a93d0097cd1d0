-- reap: take back running jobs whose lease ran out, oldest first, except the held claims.
-- flags: allow-oom
-- include: change
-- include: ending
-- include: error
-- include: recall
-- op: { types, held claims as { job id, token }, limit }
-- The answer begins with whether chains that ended, here or elsewhere, have still to release others.
-- shown: the answer, from that word and of each job its worker and its id. Only these are kept: payloads may be large.
local function shown(told)
  local answer = { told[1] }
  for n = 2, #told, 2 do
    if load(told[n + 1]) then
      answer[#answer + 1] = told[n]
      show(answer, told[n + 1])
    end
  end
  return answer
end

local before = recall()
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

local function take_back(job)
  local error = error_text('LeaseLost', 'lease lost: worker ' .. (job.worker or 'None') .. ' stopped renewing it')
  lost_claims[job.id] = true
  leave(job)
  local again = not job.max_attempts or job.max_attempts == 0 or job.attempt < job.max_attempts
  end_attempt(job, 'lost', error, again and now or nil)
  let_go(job)
  if again then
    job.status, job.scheduled_at = PENDING, now
    enter(job, 'reaped', 'e', error)
  else
    job.status, job.finished_at = FAILED, now
    enter(job, 'failed', 'e', error)
    chain_ended(chain_of(job), BROKEN_CHAIN)
  end
end

local told = { '' }
for _, entry in ipairs(expired) do
  local job = #told < op[3] * 2 and load(id_of(entry.member))
  if job and job.status == RUNNING and held[job.id] ~= job.token then
    told[#told + 1] = job.worker or ''
    take_back(job)
    told[#told + 1] = job.id
  end
end
release()
told[1] = redis.call('EXISTS', releasing_key) == 1 and 'more' or ''
finish()
return shown(#told > 1 and remember(told) or told)
