-- include: arguments
-- add_up: add the appended changes to the sums, per type and minute, and per error group.
-- n:MINUTE has the sums of the types in a minute, n:0 the totals: the numbers of the seven kinds, the total waiting and
-- run time, and two histograms. eg has the error groups with their totals, ec:MINUTE the numbers of a minute.
local add_up = {}
local KINDS = { started = 1, completed = 2, failed = 3, retried = 4, reaped = 5, rescheduled = 6, cancelled = 7 }
local WAIT_TOTAL, RUN_TOTAL, WAITS, RUNS, VALUES = 8, 9, 9, 26, 43
local MOST_GROUPS = 1000
local KEPT_SECONDS = 90000

local function read_sums(key, type)
  local stored = redis.call('HGET', key, type)
  if stored then
    return cmsgpack.unpack(stored)
  end
  local sums = {}
  for n = 1, VALUES do
    sums[n] = 0
  end
  return sums
end

local function add_letters(sums, letters, offset)
  for n = 1, #letters do
    local place = offset + string.byte(letters, n) - 96
    sums[place] = sums[place] + 1
  end
end

local function add_change(sums, kind, number, waits, runs, wait_total, run_total)
  sums[KINDS[kind]] = sums[KINDS[kind]] + number
  sums[WAIT_TOTAL], sums[RUN_TOTAL] = sums[WAIT_TOTAL] + wait_total, sums[RUN_TOTAL] + run_total
  add_letters(sums, waits, WAITS)
  add_letters(sums, runs, RUNS)
end

-- read_group: a group as { type, summary, first, last, example, failed, retried }. A new fingerprint beyond the limit
-- belongs to the group ''.
local function read_group(fingerprint, type, summary, at, example)
  local stored = redis.call('HGET', prefix .. 'eg', fingerprint)
  if not stored then
    local known = redis.call('HLEN', prefix .. 'eg') - redis.call('HEXISTS', prefix .. 'eg', '')
    if fingerprint ~= '' and known >= MOST_GROUPS then
      return read_group('', '', '["","",""]', at, example)
    end
    return fingerprint, { type, summary, at, at, example, 0, 0 }
  end
  return fingerprint, cmsgpack.unpack(stored)
end

local function add_failure(fingerprint, type, minute, kind, number, summary, example, at)
  local name, group = read_group(fingerprint, type, summary, at, example)
  if at >= group[4] then
    group[4], group[5] = at, example
  end
  group[3] = math.min(group[3], at)
  local place = kind == 'failed' and 6 or 7
  group[place] = group[place] + number
  redis.call('HSET', prefix .. 'eg', name, cmsgpack.pack(group))
  local key = prefix .. 'ec:' .. minute
  local stored = redis.call('HGET', key, name)
  local numbers = stored and cmsgpack.unpack(stored) or { 0, 0 }
  numbers[place - 5] = numbers[place - 5] + number
  redis.call('HSET', key, name, cmsgpack.pack(numbers))
  redis.call('EXPIRE', key, KEPT_SECONDS)
end

function add_up.changes()
  local sums = {}
  local function add(type, minute, ...)
    for _, place in ipairs({ prefix .. 'n:' .. minute, prefix .. 'n:0' }) do
      sums[place] = sums[place] or {}
      sums[place][type] = sums[place][type] or read_sums(place, type)
      add_change(sums[place][type], ...)
    end
  end
  local begun = redis.call('HGETALL', prefix .. 'started')
  for n = 1, #begun, 2 do
    local minute, type = string.match(begun[n], '^(%d+):(.*)$')
    add(type, minute, 'started', tonumber(begun[n + 1]), '', '', 0, 0)
  end
  for _, packed in ipairs(redis.call('LRANGE', prefix .. 'n', 0, -1)) do
    local v = cmsgpack.unpack(packed)
    add(v[1], int(v[2]), v[3], v[4], v[5], v[6], v[7], v[8])
    if v[9] then
      add_failure(v[9], v[1], int(v[2]), v[3], v[4], v[10], v[11], v[12])
    end
  end
  for key, types in pairs(sums) do
    for type, values in pairs(types) do
      redis.call('HSET', key, type, cmsgpack.pack(values))
    end
    if key ~= prefix .. 'n:0' then
      redis.call('EXPIRE', key, KEPT_SECONDS)
    end
  end
  redis.call('DEL', prefix .. 'n', prefix .. 'started')
end

-- add_up.forget_groups: remove groups without a recent failure.
function add_up.forget_groups(since)
  local groups = redis.call('HGETALL', prefix .. 'eg')
  for n = 1, #groups, 2 do
    if cmsgpack.unpack(groups[n + 1])[4] < since then
      redis.call('HDEL', prefix .. 'eg', groups[n])
    end
  end
end
