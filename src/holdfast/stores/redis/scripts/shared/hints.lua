-- include: index
-- include: counters
-- hints: events and wake-ups for other processes, and the end of every script that writes.
local numbers = redis.call('HMGET', root, 'seq', 'events', 'listening')
local last_seq = tonumber(numbers[1] or 0)
local last_event = tonumber(numbers[2] or 0)
local listening = tonumber(numbers[3] or 0) > now
local seq_before, event_before = last_seq, last_event
local due, finished, lost_claims = {}, {}, {}
local pending_sets_used = {}
-- What `finish` calls first.
local before_finish = {}
local EVENTS_KEPT = '10000'

-- record_event: record an event if a listener of live events exists.
local function record_event(job, kind)
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

-- finish: write the collected changes and publish the hints.
local function finish()
  for _, write in pairs(before_finish) do
    write()
  end
  write_indexes()
  counters.append()
  local recorded = last_event ~= event_before
  local fields = {}
  if last_seq ~= seq_before then
    fields = { 'seq', int(last_seq) }
  end
  if recorded then
    fields[#fields + 1], fields[#fields + 2] = 'events', int(last_event)
  end
  for set in pairs(pending_sets_used) do
    fields[#fields + 1], fields[#fields + 2] = 'l:' .. set, ''
  end
  write_some('HSET', root, fields)
  if recorded or next(due) or next(finished) or next(lost_claims) then
    local hints = { due = names(due), finished = names(finished), lost = names(lost_claims), recorded = recorded }
    -- pcall: a user without the right to publish must not get an error after all writes. The subscriber reports that.
    redis.pcall(publish, prefix .. 'wake', cmsgpack.pack(hints))
  end
end
