-- include: index
-- hints: what others should hear of, and the end of every script that writes.
local noted = redis.call('HMGET', root, 'seq', 'events', 'listening')
local last_seq = tonumber(noted[1] or 0)
local last_event = tonumber(noted[2] or 0)
local listening = tonumber(noted[3] or 0) > now
local seq_before, event_before = last_seq, last_event
local due, finished, lost_claims = {}, {}, {}
local lines_entered = {}
local EVENTS_KEPT = '10000'

-- note: record an event for whoever follows the store live.
local function note(job, kind)
  if listening then
    last_event = last_event + 1
    local event = '\151' .. cmsgpack.pack(now, kind, job.id, chain_of(job), job.type, job.attempt, job.worker)
    redis.call('XADD', prefix .. 'events', 'MAXLEN', '~', EVENTS_KEPT, int(last_event) .. '-0', 'e', event)
  end
end

local function names(set)
  local list = {}
  for name in pairs(set) do
    list[#list + 1] = name
  end
  return list
end

-- finish: write what was gathered and wake whoever may have something to do.
local function finish()
  write_indexes()
  local recorded = last_event ~= event_before
  local fields = {}
  if last_seq ~= seq_before then
    fields = { 'seq', int(last_seq) }
  end
  if recorded then
    fields[#fields + 1], fields[#fields + 2] = 'events', int(last_event)
  end
  for line in pairs(lines_entered) do
    fields[#fields + 1], fields[#fields + 2] = 'l:' .. line, ''
  end
  write_some('HSET', root, fields)
  if recorded or next(due) or next(finished) or next(lost_claims) then
    local hints = { due = names(due), finished = names(finished), lost = names(lost_claims), recorded = recorded }
    -- A user who may not publish must not fail here, after all is written: it is a hint, and whoever listens says so.
    redis.pcall(publish, prefix .. 'wake', cmsgpack.pack(hints))
  end
end
