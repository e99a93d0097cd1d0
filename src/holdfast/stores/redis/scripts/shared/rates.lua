-- include: lane_state
-- rates: when a rate allows the next job (GCRA), and which job holds back others. `core/lanes.py` decides the same.
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

function lanes.weight_of(job, lane)
  for _, rule in ipairs(lanes.of(job).rules) do
    if rule.lane == lane then
      return rule.weight or 1
    end
  end
  return 1
end

-- allows_at: the first time at which a rate may allow this weight. A job that waits for more than 1 holds back others.
function lanes.allows_at(state, track, weight)
  local one, priority = lanes.interval(state, 1), tonumber(track.priority)
  if state.held_by and state.held_by ~= track.id and priority <= state.held_priority and now < state.held_at + one then
    return now < state.held_at and state.held_at or state.held_at + one
  end
  local at = lanes.rate_allows_at(state, weight)
  -- A weight above the burst can never begin: the burst was lowered after the start.
  if at > now and weight > 1 and weight <= state.burst then
    state.held_by, state.held_priority, state.held_at, state.hold_changed = track.id, priority, at, true
  end
  return at
end

-- count: let a job of this weight start.
function lanes.count(state, lane, track, weight)
  if weight > 0 then
    state.tat = math.max(state.tat, now) + lanes.interval(state, weight)
    redis.call('HSET', prefix .. 'tats', lane, int(state.tat))
    if state.held_by == track.id then
      state.held_by, state.hold_changed = nil, true
    end
  end
end

-- write_hold: write which job holds back others in a rate.
function lanes.write_hold(state, lane)
  if state.held_by then
    redis.call('HSET', prefix .. 'holds', lane, cmsgpack.pack({ state.held_by, state.held_priority, state.held_at }))
  else
    redis.call('HDEL', prefix .. 'holds', lane)
  end
end
