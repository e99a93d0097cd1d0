-- include: hints
-- include: chain
-- include: details
-- lane_state: limits, rates and orders, and the state of their lanes.
-- Jobs of a type and priority with the same lanes form a track. A track is ready, or waits until its first job is due, or
-- is parked at the lane that it waits for. `core/lanes.py` describes this; this file repeats its decisions.
-- Hashes, so that one command reads or writes many lanes or tracks:
-- limits: name to { kind, declared, per, burst, override }. tats, overrides: by lane. held: see `lane_holders`. holds: the
-- reservation of a rate by lane, { track, priority, time } of the job that waits for its weight.
-- tracks: { type, priority, lane for fairness, order or '', lanes ... }. turns: the turn of a track, then a colon and the
-- lane at which it is parked, if any. fairs: see `fair_tracks`. parked: the types that may have tracks parked at a lane.
-- wait:TRACK: its pending jobs by due time. laned:TYPE: the pending jobs of a type that have lanes.
-- ready:TYPE: ranks of ready tracks. timed:TYPE: tracks by the due time of their first job. parked:LANE:TYPE: ranks.
-- wakes: lanes by the time at which a rate allows more. places:LANE: the places of an order. kept:CHAIN: orders of a chain.
local lanes = { read = {}, states = {}, limits = {}, fronts = {} }

-- read_fields: these fields of a hash, in order; false for those that do not exist.
function lanes.read_fields(key, fields)
  local values = {}
  if #fields <= MAX_ARGUMENTS then
    return #fields > 0 and redis.call('HMGET', prefix .. key, unpack(fields)) or values
  end
  for from = 1, #fields, MAX_ARGUMENTS do
    local upto = math.min(from + MAX_ARGUMENTS - 1, #fields)
    for n, value in ipairs(redis.call('HMGET', prefix .. key, unpack(fields, from, upto))) do
      values[from + n - 1] = value
    end
  end
  return values
end

-- write_fields: write these fields and values of a hash. The server searches a hash with only few and short values from its
-- start, so the field '' has a value of more than 64 bytes.
function lanes.write_fields(key, fields)
  for from = 1, #fields, MAX_ARGUMENTS do
    local upto = math.min(from + MAX_ARGUMENTS - 1, #fields)
    redis.call('HSET', prefix .. key, '', string.rep('-', 65), unpack(fields, from, upto))
  end
end

-- of: the lanes of a job; nil if it has none.
function lanes.of(job)
  local found = lanes.read[job.details]
  if found == nil then
    found = read_short(job.details) or cjson.decode(job.details).lanes
    lanes.read[job.details] = found
  end
  return found ~= cjson.null and found or nil
end

function lanes.key(kind, lane)
  return prefix .. kind .. ':' .. lane
end

function lanes.name(lane)
  return string.sub(lane, 1, string.find(lane, '\31', 1, true) - 1)
end

-- read_limit: a limit, read once per script; nil if there is none.
function lanes.read_limit(name)
  local limit = lanes.limits[name]
  if not limit then
    local stored = redis.call('HGET', prefix .. 'limits', name)
    limit = stored and cmsgpack.unpack(stored) or nil
    lanes.limits[name] = limit
  end
  return limit
end

function lanes.write_limit(name, limit)
  lanes.limits[name] = limit
  redis.call('HSET', prefix .. 'limits', name, cmsgpack.pack(limit))
end

-- state: the kind of a lane, its number in force, and the clock of a rate, read once per script. Lanes of one limit or order
-- share their state, unless one of them has its own number.
function lanes.state(lane)
  local state = lanes.states[lane]
  if not state then
    local name = lanes.name(lane)
    local limit = lanes.read_limit(name)
    local tat = limit.kind == 'rate' and redis.call('HGET', prefix .. 'tats', lane)
    if lanes.overridden == nil then
      lanes.overridden = redis.call('EXISTS', prefix .. 'overrides') == 1
    end
    local own = lanes.overridden and redis.call('HGET', prefix .. 'overrides', lane)
    local shared = limit.kind ~= 'rate' and not own
    state = shared and lanes.states[name] or {
      kind = limit.kind, per = limit.per, burst = limit.burst, tat = tonumber(tat or 0),
      number = tonumber(own or limit.override or limit.declared), wake_at = nil,
    }
    lanes.states[lane] = state
    local reservation = limit.kind == 'rate' and redis.call('HGET', prefix .. 'holds', lane)
    if reservation then
      state.reserved_by, state.reserved_priority, state.reserved_at = unpack(cmsgpack.unpack(reservation))
    end
    if shared then
      lanes.states[name] = state
    end
  end
  return state
end

-- room_in: how many jobs of weight 1 a lane allows now.
function lanes.room_in(state, lane)
  if state.kind == 'limit' then
    return math.max(0, state.number - lanes.running_in(lane))
  elseif state.kind == 'order' then
    return (state.number > 0 and lanes.running_in(lane) == 0) and 1 or 0
  elseif state.number == 0 then
    return 0
  end
  local left = lanes.interval(state, state.burst) - math.max(0, state.tat - now)
  return math.max(0, math.floor(left / lanes.interval(state, 1)))
end

-- front_place: the first place of an order, or false. It is also the index member of the first job of its chain.
function lanes.front_place(lane)
  local place = lanes.fronts[lane]
  if place == nil then
    place = redis.call('ZRANGE', lanes.key('places', lane), '0', '0')[1] or false
    lanes.fronts[lane] = place
  end
  return place
end

-- front_of: the chain at the front of an order, or false.
function lanes.front_of(lane)
  local place = lanes.front_place(lane)
  return place and member_id(place)
end

-- front_job: the job at the front of an order, if it is pending and has lanes.
function lanes.front_job(lane)
  local chain = lanes.front_of(lane)
  local job = chain and last_of(chain)
  return job and job.status == PENDING and job.details and lanes.of(job) and job or nil
end
