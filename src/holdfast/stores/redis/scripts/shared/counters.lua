-- include: arguments
-- lazy: add_up
-- counters: what happened to jobs, per type and minute, collected while a script runs and appended at its end.
-- n lists changes, `started` has the started jobs by minute and type. `add_up` moves both into the sums.
-- One table: a Lua function may refer to at most sixty variables outside of it.
local counters = {}
local BOUNDS = { 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000,
  60000000, 300000000, 1800000000, 7200000000 }
local ADDED_UP_AT = 200
local counted, started = nil, nil

-- bucket: a duration as the letter of its bucket.
local function bucket(duration)
  local n = 1
  while n <= 16 and duration > BOUNDS[n] do
    n = n + 1
  end
  return string.char(96 + n)
end

local function this_minute()
  return int(math.floor(now / 60000000))
end

function counters.started(type)
  started = started or {}
  started[type] = (started[type] or 0) + 1
end

-- counters.job: count what happened to a job; for a failure with the group of its error. Returns the change.
function counters.job(kind, job, fingerprint, summary)
  counted = counted or {}
  local group = fingerprint or ''
  local kinds = counted[kind] or {}
  counted[kind] = kinds
  local groups = kinds[job.type] or {}
  kinds[job.type] = groups
  local change = groups[group]
  if not change then
    change = { number = 0, waits = {}, runs = {}, wait_total = 0, run_total = 0 }
    groups[group] = change
  end
  change.number = change.number + 1
  if fingerprint then
    change.summary, change.example = summary, job.id
  end
  return change
end

-- counters.settled: count an attempt that its worker settled, with its durations.
function counters.settled(kind, job, fingerprint, summary)
  local change = counters.job(kind, job, fingerprint, summary)
  local begun = job.started_at or now
  local wait, run = math.max(0, begun - tonumber(job.scheduled_at)), math.max(0, now - begun)
  local n = #change.waits + 1
  change.waits[n], change.runs[n] = bucket(wait), bucket(run)
  change.wait_total, change.run_total = change.wait_total + wait, change.run_total + run
end

-- counters.append: write what was counted.
function counters.append()
  for type, number in pairs(started or {}) do
    redis.call('HINCRBY', prefix .. 'started', this_minute() .. ':' .. type, number)
  end
  started = nil
  if not counted then
    return
  end
  local length = 0
  for kind, types in pairs(counted) do
    for type, groups in pairs(types) do
      for group, change in pairs(groups) do
        -- Twelve values, as an array.
        local packed = '\156' .. cmsgpack.pack(
          type, tonumber(this_minute()), kind, change.number, table.concat(change.waits), table.concat(change.runs),
          change.wait_total, change.run_total, group ~= '' and group or nil, change.summary, change.example, now
        )
        length = redis.call('RPUSH', prefix .. 'n', packed)
      end
    end
  end
  counted = nil
  if length >= ADDED_UP_AT then
    need_add_up()
    add_up.changes()
  end
end
