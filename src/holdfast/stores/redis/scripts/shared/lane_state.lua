-- include: hints
-- include: chain
-- lane_state: limits, rates and orders, and the state of their lanes.
-- Jobs of a type and priority with the same lanes form a track. A track is ready, or waits until its first job is due, or
-- is parked at the lane that it waits for. `core/lanes.py` describes this; this file repeats its decisions.
-- limits: name to { kind, declared, per, burst, override }. tats, overrides: by lane. held:LANE: the running jobs.
-- held, parked, tracks: the lanes with running jobs, the lanes with parked tracks, and the tracks.
-- track:TRACK: a hash. wait:TRACK: its pending jobs by due time. laned:TYPE: the pending jobs of a type that have lanes.
-- ready:TYPE: ranks of ready tracks. timed:TYPE: tracks by the due time of their first job. parked:LANE:TYPE: ranks.
-- wakes: lanes by the time at which a rate allows more. places:LANE: the order of an order. kept:CHAIN: orders of a chain.
local lanes = { read = {}, states = {}, limits = {}, tracks = {} }

-- of: the lanes of a job; nil if it has none.
function lanes.of(job)
  local found = lanes.read[job.details]
  if found == nil then
    found = cjson.decode(job.details).lanes
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

-- state: a lane with its number in force, read once per script.
function lanes.state(lane)
  local state = lanes.states[lane]
  if not state then
    local limit = lanes.read_limit(lanes.name(lane))
    local tat = limit.kind == 'rate' and redis.call('HGET', prefix .. 'tats', lane)
    if lanes.overridden == nil then
      lanes.overridden = redis.call('EXISTS', prefix .. 'overrides') == 1
    end
    local own = lanes.overridden and redis.call('HGET', prefix .. 'overrides', lane)
    state = {
      lane = lane, kind = limit.kind, per = limit.per, burst = limit.burst, tat = tonumber(tat or 0),
      number = tonumber(own or limit.override or limit.declared),
    }
    lanes.states[lane] = state
  end
  return state
end

function lanes.running_in(lane)
  return redis.call('ZCARD', lanes.key('held', lane))
end

-- interval: the time that a weight takes, rounded up, so that the rate is never exceeded.
function lanes.interval(state, weight)
  return math.ceil(weight * state.per / state.number)
end

-- rate_allows_at: when a rate allows this weight; nil if it is 0.
function lanes.rate_allows_at(state, weight)
  if state.number == 0 then
    return nil
  end
  local at = math.max(state.tat, now) + lanes.interval(state, weight) - lanes.interval(state, state.burst)
  return math.max(now, at)
end

-- room_in: how many jobs of weight 1 a lane allows now.
function lanes.room_in(state)
  if state.kind == 'limit' then
    return math.max(0, state.number - lanes.running_in(state.lane))
  elseif state.kind == 'order' then
    return (state.number > 0 and lanes.running_in(state.lane) == 0) and 1 or 0
  elseif state.number == 0 then
    return 0
  end
  local left = lanes.interval(state, state.burst) - math.max(0, state.tat - now)
  return math.max(0, math.floor(left / lanes.interval(state, 1)))
end

-- front_of: the chain at the front of an order.
function lanes.front_of(lane)
  local first = redis.call('ZRANGE', lanes.key('places', lane), 0, 0)[1]
  return first and string.sub(first, 9)
end

-- front_job: the job at the front of an order, if it is pending and has lanes.
function lanes.front_job(lane)
  local chain = lanes.front_of(lane)
  local job = chain and last_of(chain)
  return job and job.status == PENDING and job.details and lanes.of(job) and job or nil
end
