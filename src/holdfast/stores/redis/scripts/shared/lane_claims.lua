-- include: lanes
-- lane_claims: the tracks that a claim reads, and what the claim means for them.
-- best_tracks: the best ready tracks of these types, at most `limit`, each with its first due jobs.
function lanes.best_tracks(types, limit)
  for _, lane in ipairs(redis.call('ZRANGEBYSCORE', prefix .. 'wakes', '-inf', int(now), 'LIMIT', 0, 1000)) do
    redis.call('ZREM', prefix .. 'wakes', lane)
    lanes.wake(lane)
  end
  local ranks = {}
  for _, type in ipairs(types) do
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', lanes.key('timed', type), '-inf', int(now), 'LIMIT', 0, 1000)) do
      lanes.make_ready(lanes.read_track(id))
    end
    for _, rank in ipairs(redis.call('ZRANGE', lanes.key('ready', type), 0, limit - 1)) do
      ranks[#ranks + 1] = rank
    end
  end
  table.sort(ranks)
  local tracks = {}
  for n = 1, math.min(limit, #ranks) do
    tracks[n] = lanes.read_track(string.sub(ranks[n], 17))
  end
  local number = math.ceil(limit / math.max(1, #tracks))
  for _, track in ipairs(tracks) do
    if track.order then
      local job = lanes.front_job(track.order)
      local is_due = job and lanes.of(job).track == track.id and tonumber(job.scheduled_at) <= now
      track.members = is_due and { index_member(job) } or {}
    else
      track.members = redis.call(
        'ZRANGEBYSCORE', lanes.key('wait', track.id), '-inf', int(now), 'LIMIT', 0, number
      )
    end
    track.at = 0
  end
  return tracks
end

-- ready_tracks: the same, without tracks that have no due job: they would use slots of the claim.
function lanes.ready_tracks(types, limit)
  local passes = 0
  while true do
    local tracks, due_tracks = lanes.best_tracks(types, limit), {}
    for _, track in ipairs(tracks) do
      if track.members[1] then
        due_tracks[#due_tracks + 1] = track
      else
        lanes.put_back(track)
      end
    end
    passes = passes + 1
    if #due_tracks == #tracks or passes == 100 then
      return due_tracks
    end
  end
end

function lanes.weight_of(job, lane)
  for _, rule in ipairs(lanes.of(job).rules) do
    if rule.lane == lane then
      return rule.weight or 1
    end
  end
  return 1
end

-- allows: whether a lane lets this job start now. A rate that does not is read again when it does.
function lanes.allows(state, job, counts)
  if state.kind == 'limit' then
    return lanes.running_in(state.lane) < state.number
  elseif state.kind == 'order' then
    local front = lanes.front_of(state.lane)
    return state.number > 0 and lanes.running_in(state.lane) == 0 and (not front or front == chain_of(job))
  elseif state.number == 0 then
    return false
  end
  local weight = counts and lanes.weight_of(job, state.lane) or 0
  local at = weight > 0 and lanes.rate_allows_at(state, weight) or now
  if at > now and (not state.wake_at or at < state.wake_at) then
    state.wake_at = at
  end
  return at <= now
end

function lanes.has_rate(track)
  if track.has_rate == nil then
    track.has_rate = false
    for _, lane in ipairs(track.lanes) do
      track.has_rate = track.has_rate or lanes.state(lane).kind == 'rate'
    end
  end
  return track.has_rate
end

-- take_from: the next job of a track, holding its lanes; nil if it has none or must wait.
function lanes.take_from(track, parked)
  track.at = track.at + 1
  local member = track.members[track.at]
  local job = member and load(member_id(member))
  if not job or job.status ~= PENDING then
    return nil
  end
  local counts = lanes.has_rate(track) and tonumber(redis.call('HGET', job_key(job.id), 'n') or 0) ~= job.attempt + 1
  for _, lane in ipairs(track.lanes) do
    if not lanes.allows(lanes.state(lane), job, counts) then
      parked[track.id] = lane
      return nil
    end
  end
  for _, lane in ipairs(track.lanes) do
    local state = lanes.state(lane)
    redis.call('ZADD', lanes.key('held', lane), int(job.seq), job.id)
    redis.call('SADD', prefix .. 'held', lane)
    if state.kind == 'rate' and counts then
      local weight = lanes.weight_of(job, lane)
      if weight > 0 then
        state.tat = math.max(state.tat, now) + lanes.interval(state, weight)
        redis.call('HSET', prefix .. 'tats', lane, int(state.tat))
      end
      redis.call('HSET', job_key(job.id), 'n', int(job.attempt + 1))
    end
  end
  redis.call('ZREM', lanes.key('wait', track.id), member)
  redis.call('ZREM', lanes.key('laned', track.type), member)
  track.served = true
  return member
end

-- serve: put the tracks of a lane that was served behind all others.
function lanes.serve(fair)
  local turn = lanes.new_turn()
  for _, id in ipairs(redis.call('SMEMBERS', lanes.key('fair', fair))) do
    local track = lanes.read_track(id)
    local before = lanes.rank_of(track)
    track.turn = turn
    local sets = { lanes.key('ready', track.type), track.parked and lanes.parked_key(track.parked, track.type) or nil }
    for _, key in ipairs(sets) do
      if redis.call('ZREM', key, before) == 1 then
        redis.call('ZADD', key, 0, lanes.rank_of(track))
      end
    end
    redis.call('HSET', lanes.key('track', id), 'turn', turn)
  end
end

-- put_back: make a track ready again, now or when its first job is due, park it, or forget it if it is empty.
function lanes.put_back(track)
  local first = redis.call('ZRANGE', lanes.key('wait', track.id), 0, 0, 'WITHSCORES')
  if not first[1] then
    lanes.forget_state(track)
    lanes.tracks[track.id] = nil
    redis.call('DEL', lanes.key('track', track.id))
    redis.call('SREM', prefix .. 'tracks', track.id)
    redis.call('SREM', lanes.key('fair', track.fair), track.id)
    return
  end
  local at = tonumber(first[2])
  if track.order then
    local job = lanes.front_job(track.order)
    if not job or lanes.of(job).track ~= track.id then
      lanes.park(track, track.order)
      return
    end
    at = tonumber(job.scheduled_at)
  end
  if at > now then
    lanes.make_ready_at(track, at)
  end
end

-- end_pass: bring tracks and lanes up to date after a pass. Returns whether another pass may find more jobs.
function lanes.end_pass(tracks, served, parked)
  local last = {}
  for n, fair in ipairs(served) do
    last[fair] = n
  end
  for n, fair in ipairs(served) do
    if last[fair] == n then
      lanes.serve(fair)
    end
  end
  local just_parked, used = {}, {}
  for _, track in ipairs(tracks) do
    if parked[track.id] then
      lanes.park(track, parked[track.id])
      just_parked[parked[track.id]] = true
    else
      lanes.put_back(track)
    end
    for _, lane in ipairs(track.lanes) do
      used[lane] = true
    end
  end
  for lane in pairs(used) do
    local state = lanes.state(lane)
    if state.wake_at then
      redis.call('ZADD', prefix .. 'wakes', int(state.wake_at), lane)
      state.wake_at = nil
    end
    if not just_parked[lane] then
      lanes.wake(lane)
    end
  end
  return #served > 0 or next(parked) ~= nil
end
