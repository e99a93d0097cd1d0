-- include: change
-- include: steps
-- suspension: the end of an attempt that sleeps or waits for messages.
-- The end of the year 9999, as `NEVER` in core/steps.py.
local NEVER = '253402300799000000'

-- suspend: return a job to pending until the first of its waits ends. The attempt does not count, and keeps its number: a rate
-- that counted it does not count it again. Each wait is { name, each, kind, number, attempt, epoch, delay, at }.
local function suspend(job, token, waits)
  local due, received = NEVER, false
  local messages = steps.messages(chain_of(job))
  for _, wait in ipairs(waits) do
    local name, wake_at = wait[1], wait[8] or wait[7] and plus(now, wait[7]) or nil
    if wake_at and tonumber(wake_at) < tonumber(due) then
      due = wake_at
    end
    local facts = { name, wait[2], wait[3], wait[4], wait[5], wait[6], now, nil, wake_at, nil }
    redis.call('HSETNX', steps.key(job.id), steps.field(name, wait[2]), steps.pack(facts))
    if wait[3] == 'receive' then
      if redis.call('HEXISTS', messages, 'v' .. name) == 1 then
        received = true
      else
        redis.call('HSET', messages, 'w' .. name, cmsgpack.pack(job.id, token))
      end
    end
  end
  due = received and now or due_at(due, 0)
  end_attempt(job, 'suspended', nil, due, token)
  leave_status(job)
  clear_claim(job, token)
  job.status, job.attempt, job.scheduled_at = PENDING, job.attempt - 1, due
  enter_status(job, 'suspended')
end
