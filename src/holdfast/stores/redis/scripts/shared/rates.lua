-- include: lane_state
-- rates: when a rate allows the next job (GCRA), and which job reserves it. `core/lanes.py` decides the same.
-- interval: the time that a weight takes, rounded up, so that the rate is never exceeded.
function lanes.interval(state, weight)
  return math.ceil(weight * state.per / state.number)
end

-- rate_allows_at: when a rate allows this weight; nil if the rate is 0.
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

-- allows_at: the first time at which a rate may allow this weight. A job that waits for more than 1 reserves the rate.
function lanes.allows_at(state, track, weight)
  local one, priority = lanes.interval(state, 1), tonumber(track.priority)
  local by, at = state.reserved_by, state.reserved_at
  if by and by ~= track.id and priority <= state.reserved_priority and now < at + one then
    return now < at and at or at + one
  end
  at = lanes.rate_allows_at(state, weight)
  -- A weight above the burst can never begin: the burst was lowered after the start.
  if at > now and weight > 1 and weight <= state.burst then
    state.reserved_by, state.reserved_priority, state.reserved_at = track.id, priority, at
    state.reservation_changed = true
  end
  return at
end

-- count: let a job of this weight start.
function lanes.count(state, lane, track, weight)
  if weight > 0 then
    state.tat = math.max(state.tat, now) + lanes.interval(state, weight)
    redis.call('HSET', prefix .. 'tats', lane, int(state.tat))
    if state.reserved_by == track.id then
      state.reserved_by, state.reservation_changed = nil, true
    end
  end
end

-- write_reservation: write the reservation of a rate, or remove it.
function lanes.write_reservation(state, lane)
  if state.reserved_by then
    local packed = cmsgpack.pack({ state.reserved_by, state.reserved_priority, state.reserved_at })
    redis.call('HSET', prefix .. 'holds', lane, packed)
  else
    redis.call('HDEL', prefix .. 'holds', lane)
  end
end
