-- reap: take back running jobs whose lease ran out, oldest first, except the held claims.
-- flags: allow-oom
-- include: change
-- include: ending
-- include: error
-- include: recall
-- op: { types, held claims as { job id, token }, limit }
-- The answer begins with whether chains that ended, here or elsewhere, have still to release others.
local before = recall()
if before then
  return before
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

local reaped, workers = {}, {}
for _, entry in ipairs(expired) do
  local job = #reaped < op[3] and load(id_of(entry.member))
  if job and job.status == RUNNING and held[job.id] ~= job.token then
    workers[#workers + 1] = job.worker or ''
    take_back(job)
    reaped[#reaped + 1] = job.id
  end
end
release()
local answer = { redis.call('EXISTS', releasing_key) == 1 and 'more' or '' }
for n, id in ipairs(reaped) do
  answer[#answer + 1] = workers[n]
  show(answer, id)
end
finish()
return #reaped > 0 and remember(answer) or answer
