-- include: lane_state
-- tracks: which tracks a claim reads, and which wait for a lane.
function lanes.new_turn()
  return redis.call('HINCRBY', prefix .. 'lanes', 'turn', 1)
end

-- A rank sorts by priority, then turn: tracks with a lower turn come first.
function lanes.rank_of(track)
  return struct.pack('>I8I8', 2 ^ 32 - tonumber(track.priority), tonumber(track.turn)) .. track.id
end

-- read_track: a track, read once per script and changed with the stored one; nil if there is none.
function lanes.read_track(id)
  if lanes.tracks[id] then
    return lanes.tracks[id]
  end
  local row = redis.call('HMGET', lanes.key('track', id), 'type', 'priority', 'fair', 'lanes', 'turn', 'parked', 'order')
  if not row[1] then
    return nil
  end
  local track = {
    id = id, type = row[1], priority = row[2], fair = row[3], lanes = cmsgpack.unpack(row[4]), turn = row[5],
    parked = row[6] or nil, order = row[7] or nil,
  }
  lanes.tracks[id] = track
  return track
end

function lanes.parked_key(lane, type)
  return lanes.key('parked', lane) .. ':' .. type
end

-- forget_state: take a track out of the set that it is in.
function lanes.forget_state(track)
  local rank = lanes.rank_of(track)
  if not track.parked then
    redis.call('ZREM', lanes.key('ready', track.type), rank)
    redis.call('ZREM', lanes.key('timed', track.type), track.id)
  else
    redis.call('ZREM', lanes.parked_key(track.parked, track.type), rank)
    if redis.call('EXISTS', lanes.parked_key(track.parked, track.type)) == 0 then
      redis.call('SREM', lanes.key('types', track.parked), track.type)
      if redis.call('EXISTS', lanes.key('types', track.parked)) == 0 then
        redis.call('SREM', prefix .. 'parked', track.parked)
      end
    end
    redis.call('HDEL', lanes.key('track', track.id), 'parked')
    track.parked = nil
  end
end

function lanes.make_ready(track)
  if track.parked then
    lanes.forget_state(track)
  else
    redis.call('ZREM', lanes.key('timed', track.type), track.id)
  end
  redis.call('ZADD', lanes.key('ready', track.type), 0, lanes.rank_of(track))
  due[track.type] = true
end

function lanes.make_ready_at(track, at)
  lanes.forget_state(track)
  redis.call('ZADD', lanes.key('timed', track.type), int(at), track.id)
end

function lanes.park(track, lane)
  if track.parked == lane then
    return
  end
  lanes.forget_state(track)
  redis.call('HSET', lanes.key('track', track.id), 'parked', lane)
  redis.call('ZADD', lanes.parked_key(lane, track.type), 0, lanes.rank_of(track))
  redis.call('SADD', lanes.key('types', lane), track.type)
  redis.call('SADD', prefix .. 'parked', lane)
  track.parked = lane
end

-- wake: a lane has changed: make as many of its parked tracks ready as it has room for, of each type.
function lanes.wake(lane)
  local types = redis.call('SMEMBERS', lanes.key('types', lane))
  if #types == 0 then
    return
  end
  local state = lanes.state(lane)
  local room = lanes.room_in(state)
  if state.kind == 'order' then
    local job = room > 0 and lanes.front_job(lane)
    local track = job and lanes.read_track(lanes.of(job).track)
    if track and track.parked == lane then
      lanes.make_ready(track)
    end
    return
  end
  if room == 0 then
    local at = state.kind == 'rate' and lanes.rate_allows_at(state, 1)
    if at then
      redis.call('ZADD', prefix .. 'wakes', int(at), lane)
    end
    return
  end
  for _, type in ipairs(types) do
    for _, rank in ipairs(redis.call('ZRANGE', lanes.parked_key(lane, type), 0, room - 1)) do
      lanes.make_ready(lanes.read_track(string.sub(rank, 17)))
    end
  end
end

-- enter_track: add a pending job to its track. A parked track stays, except at an order: the job may be the front.
function lanes.enter_track(job, own)
  for _, rule in ipairs(own.rules) do
    local name = lanes.name(rule.lane)
    if redis.call('HEXISTS', prefix .. 'limits', name) == 0 then
      lanes.write_limit(name, { kind = rule.kind, declared = rule.number or 1, per = rule.per or 0, burst = rule.burst or 1 })
    end
  end
  redis.call('ZADD', lanes.key('wait', own.track), int(job.scheduled_at), index_member(job))
  redis.call('ZADD', lanes.key('laned', job.type), int(job.scheduled_at), index_member(job))
  local track = lanes.read_track(own.track)
  if not track then
    local ids, order = {}, nil
    for n, rule in ipairs(own.rules) do
      ids[n] = rule.lane
      order = order or rule.kind == 'order' and rule.lane or nil
    end
    track = {
      id = own.track, type = job.type, priority = int(job.priority), fair = own.fair, lanes = ids,
      turn = lanes.new_turn(), order = order,
    }
    local fields = { 'type', track.type, 'priority', track.priority, 'fair', track.fair, 'lanes', cmsgpack.pack(ids) }
    redis.call('HSET', lanes.key('track', track.id), 'turn', track.turn, unpack(fields))
    lanes.tracks[track.id] = track
    if order then
      redis.call('HSET', lanes.key('track', track.id), 'order', order)
    end
    redis.call('SADD', lanes.key('fair', track.fair), track.id)
    redis.call('SADD', prefix .. 'tracks', track.id)
    -- The second field shows that the type exists.
    redis.call('HSET', KEYS[1], 'lanes', '', 'l:0:' .. track.type, '')
  end
  if not track.parked or track.parked == track.order then
    lanes.make_ready(track)
  end
  due[job.type] = true
end
