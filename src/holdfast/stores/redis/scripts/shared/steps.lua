-- include: job
-- steps: the steps of jobs, and the messages of chains.
-- t:JOB is a hash with a field per step: the length of the name, the name, and `each`. A value is the length of the facts in
-- two bytes, the facts, and the result or error, which no script decodes. The facts are ten values: name, each, kind, number,
-- attempt, epoch, started at, finished at (nil if it is open), wake at, and 'r' or 'e' if a result or an error follows.
-- m:CHAIN is a hash: a field 'v' .. NAME is a message, 'w' .. NAME the job that waits for it and the token of its claim. The wait
-- counts while the job is pending with this token.
-- One table: a Lua function may refer to at most sixty variables outside of it.
local steps = {}

function steps.key(id)
  return prefix .. 't:' .. id
end

function steps.messages(chain)
  return prefix .. 'm:' .. chain
end

function steps.field(name, each)
  return #name .. ':' .. name .. each
end

-- read: the facts of a stored step, and where its payload begins.
function steps.read(value)
  local length = struct.unpack('>I2', value)
  return cmsgpack.unpack(string.sub(value, 3, 2 + length)), 3 + length
end

function steps.pack(facts, bytes)
  local packed = '\154' .. cmsgpack.pack(
    facts[1], facts[2], facts[3], facts[4], facts[5], facts[6], facts[7], facts[8], facts[9], facts[10]
  )
  return struct.pack('>I2', #packed) .. packed .. (bytes or '')
end

-- of: the steps of a job: { field, facts, value, where the payload begins }.
function steps.of(id)
  local rows, found = redis.call('HGETALL', steps.key(id)), {}
  for n = 1, #rows, 2 do
    local facts, at = steps.read(rows[n + 1])
    found[#found + 1] = { field = rows[n], facts = facts, value = rows[n + 1], at = at }
  end
  return found
end

-- is_wait: whether these facts are an open sleep or receive.
function steps.is_wait(facts)
  return not facts[8] and (facts[3] == 'sleep' or facts[3] == 'receive')
end

-- waiting: the job that a wait belongs to, if it is still suspended.
function steps.waiting(wait)
  local id, token = cmsgpack.unpack(wait)
  local job = load(id)
  return job and job.status == PENDING and job.token == token and job or nil
end

-- awaited: the names of the messages that a job waits for.
function steps.awaited(job)
  local rows, names = redis.call('HGETALL', steps.messages(chain_of(job))), {}
  for n = 1, #rows, 2 do
    if string.sub(rows[n], 1, 1) == 'w' and steps.waiting(rows[n + 1]) == job then
      names[#names + 1] = string.sub(rows[n], 2)
    end
  end
  return names
end

-- end_sleeps: end the open sleeps of a job. Returns whether it had one.
function steps.end_sleeps(job)
  local had = false
  for _, step in ipairs(steps.of(job.id)) do
    local facts = step.facts
    if facts[3] == 'sleep' and not facts[8] then
      facts[8], had = now, true
      redis.call('HSET', steps.key(job.id), step.field, steps.pack(facts, string.sub(step.value, step.at)))
    end
  end
  return had
end
