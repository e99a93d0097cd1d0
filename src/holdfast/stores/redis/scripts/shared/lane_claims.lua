-- include: lane_turns
-- lane_claims: the tracks that a claim reads, and what the claim means for them.
lanes.now = int(now)

-- wake_timed: make the tracks ready whose time has come, and those that wait for rates which allow more now.
function lanes.wake_timed(types)
  local due_lanes = redis.call('ZRANGEBYSCORE', prefix .. 'wakes', '-inf', lanes.now, 'LIMIT', 0, 1000)
  write_some('ZREM', prefix .. 'wakes', due_lanes)
  lanes.wake_all(due_lanes)
  for _, type in ipairs(types) do
    local ids = redis.call('ZRANGEBYSCORE', lanes.key('timed', type), '-inf', lanes.now, 'LIMIT', 0, 1000)
    lanes.read_tracks(ids)
    for _, id in ipairs(ids) do
      lanes.make_ready(lanes.tracks[id])
    end
  end
  lanes.write_tracks()
end

-- read_members: the first due jobs of a track, at most `number`. `has_more`: it stays ready when they are taken.
-- `asked`, the text of a number, is one more than may be taken: it shows that the track stays ready.
function lanes.read_members(track, number, asked)
  local due_jobs = redis.call(
    'ZRANGEBYSCORE', lanes.key('wait', track.id), '-inf', lanes.now, 'LIMIT', '0', asked
  )
  track.at, track.has_more = 0, #due_jobs > number
  if not track.order then
    due_jobs[number + 1] = nil
    track.members = due_jobs
    return
  end
  -- Most jobs are the first of their chain, and due in their order.
  local front = lanes.front_of(track.order)
  for _, member in ipairs(due_jobs) do
    if member_id(member) == front then
      track.members, track.has_more = { member }, #due_jobs > 1
      return
    end
  end
  local job = lanes.front_job(track.order)
  local is_due = job and lanes.of(job).track == track.id and tonumber(job.scheduled_at) <= now
  track.members, track.has_more = is_due and { index_member(job) } or {}, false
end

-- LEVELS: the same number is in `core/lane_choice.py`.
local LEVELS = 4

-- jobs_to_read: by priority, how many jobs of each of these tracks a claim of `limit` jobs reads: of the highest priorities
-- as many as it may take, of lower ones one. Also one more of each, as text.
function lanes.jobs_to_read(tracks, limit)
  local number_of, asked_of, levels = {}, {}, {}
  for _, track in ipairs(tracks) do
    if not number_of[track.priority] then
      levels[#levels + 1], number_of[track.priority] = track.priority, 0
    end
    number_of[track.priority] = number_of[track.priority] + 1
  end
  -- The tracks are in the order of their priorities.
  for place, priority in ipairs(levels) do
    number_of[priority] = place <= LEVELS and math.ceil(limit / number_of[priority]) or 1
    asked_of[priority] = int(number_of[priority] + 1)
  end
  return number_of, asked_of
end

-- best_ranks: the ranks of the best ready tracks of these types, at most `limit`.
function lanes.best_ranks(types, limit)
  lanes.wake_timed(types)
  local ranks, is_sorted = {}, true
  for _, type in ipairs(types) do
    local more = redis.call('ZRANGE', lanes.key('ready', type), '0', int(limit - 1))
    if not ranks[1] then
      ranks = more
    elseif more[1] then
      for _, rank in ipairs(more) do
        ranks[#ranks + 1] = rank
      end
      is_sorted = false
    end
  end
  -- The ranks of one type are sorted already.
  if not is_sorted then
    table.sort(ranks)
  end
  for n = limit + 1, #ranks do
    ranks[n] = nil
  end
  return ranks
end

-- best_tracks: the tracks with these ranks, for a claim of `limit` jobs, each with its first due jobs.
function lanes.best_tracks(ranks, limit)
  local tracks, used = lanes.read_ready(ranks), {}
  local number_of, asked_of = lanes.jobs_to_read(tracks, limit)
  for _, track in ipairs(tracks) do
    lanes.read_members(track, number_of[track.priority], asked_of[track.priority])
    for _, lane in ipairs(track.lanes) do
      used[#used + 1] = lane
    end
  end
  lanes.read_holders(used)
  return tracks
end

-- ready_tracks: the same, without tracks that have no due job: they would use slots of the claim. `ranks`: the best ranks
-- of these types, which the caller has read.
function lanes.ready_tracks(types, limit, ranks)
  local passes = 0
  while true do
    local tracks, due_tracks = lanes.best_tracks(ranks or lanes.best_ranks(types, limit), limit), {}
    ranks = nil
    for _, track in ipairs(tracks) do
      if track.members[1] then
        due_tracks[#due_tracks + 1] = track
      else
        lanes.put_back(track)
      end
    end
    lanes.write_tracks()
    passes = passes + 1
    if #due_tracks == #tracks or passes == 100 then
      return due_tracks
    end
  end
end

-- allows: whether a job of this chain may start in a lane now. `job` is set if the track has a rate.
-- If a rate does not allow the job yet, its lane is read again at the time when it does.
function lanes.allows(state, lane, track, job, counts, chain)
  if state.kind == 'limit' then
    return lanes.running_in(lane) < state.number
  elseif state.kind == 'order' then
    local front = lanes.front_of(lane)
    return state.number > 0 and lanes.running_in(lane) == 0 and (not front or front == chain)
  elseif state.number == 0 then
    return false
  end
  local weight = counts and lanes.weight_of(job, lane) or 0
  local at = weight > 0 and lanes.allows_at(state, track, weight) or now
  if at > now and (not state.wake_at or at < state.wake_at) then
    state.wake_at = at
  end
  return at <= now
end

-- has_room: whether all lanes of a track may allow its next job. A rate that did not count the last one may.
function lanes.has_room(track)
  for _, lane in ipairs(track.lanes) do
    local state = lanes.state(lane)
    if not (track.uncounted and track.uncounted[lane]) and lanes.room_in(state, lane) == 0 then
      return false
    end
  end
  return true
end

-- hides_others: whether a track that waits for the lane `full` leaves room at another, for tracks that are parked there.
function lanes.hides_others(track, full)
  lanes.read_types(track.lanes)
  for _, lane in ipairs(track.lanes) do
    if lane ~= full and lanes.types[lane] and lanes.room_in(lanes.state(lane), lane) > 0 then
      return true
    end
  end
  return false
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

-- take_from: the next job of a track, holding its lanes; nil if it has none or must wait. Also returns its row and its
-- claimed state, so that the claim reads the job once.
function lanes.take_from(track, parked, claimed_by, term)
  track.at = track.at + 1
  local member = track.members[track.at]
  if not member then
    return nil
  end
  local id = member_id(member)
  local row = redis.call('HMGET', job_key(id), 's', 'i', 'e')
  if not row[1] then
    return nil
  end
  local claimed, type, begun, chain = claimed_by(term, row[1])
  if not claimed then
    return nil
  end
  -- Only rates read more of the job than its chain.
  local job = lanes.has_rate(track) and unpack_job(id, row[1])
  local counts = job and tonumber(redis.call('HGET', job_key(id), 'n') or 0) ~= job.attempt + 1
  for _, lane in ipairs(track.lanes) do
    if not lanes.allows(lanes.state(lane), lane, track, job, counts, chain or id) then
      parked[track.id] = lane
      return nil
    end
  end
  for _, lane in ipairs(track.lanes) do
    local state = lanes.state(lane)
    lanes.hold(lane, member)
    if state.kind == 'rate' then
      track.uncounted = track.uncounted or {}
      track.uncounted[lane] = not counts or lanes.weight_of(job, lane) == 0
    end
    if state.kind == 'rate' and counts then
      lanes.count(state, lane, track, lanes.weight_of(job, lane))
      redis.call('HSET', job_key(id), 'n', int(job.attempt + 1))
    end
  end
  redis.call('ZREM', lanes.key('wait', track.id), member)
  return { member = member, term = term, row = row, claimed = claimed, type = type, begun = begun }
end

-- put_back: make a track ready again, now or when its first job is due, park it, or forget it if it is empty.
function lanes.put_back(track)
  if track.has_more or track.members[track.at + 1] then
    return
  end
  local first = redis.call('ZRANGE', lanes.key('wait', track.id), '0', '0', 'WITHSCORES')
  if not first[1] then
    lanes.remove_track(track)
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

-- end_pass: bring tracks and lanes up to date after a pass. `served`: the tracks of the jobs that were taken, in order;
-- `taken`: these jobs by type; `used`: lanes of other tracks that may have room. Returns whether another pass may find
-- more jobs.
function lanes.end_pass(tracks, served, taken, parked, used)
  if served[1] then
    lanes.serve(served)
    for type, members in pairs(taken) do
      write_some('ZREM', lanes.key('laned', type), members)
    end
  end
  local seen, changed = {}, {}
  for _, lane in pairs(parked) do
    seen[lane] = true
  end
  -- A lane without room makes no track ready.
  local function wake_later(lane, state)
    if not seen[lane] and (state.kind == 'rate' or state.number > lanes.running_in(lane)) then
      seen[lane] = true
      changed[#changed + 1] = lane
    end
  end
  for _, track in ipairs(tracks) do
    if parked[track.id] then
      lanes.park(track, parked[track.id])
    else
      lanes.put_back(track)
    end
    for _, lane in ipairs(track.lanes) do
      local state = lanes.state(lane)
      if state.wake_at then
        redis.call('ZADD', prefix .. 'wakes', int(state.wake_at), lane)
        state.wake_at = nil
      end
      if state.reservation_changed then
        lanes.write_reservation(state, lane)
        state.reservation_changed = nil
      end
      wake_later(lane, state)
    end
  end
  for _, lane in ipairs(used or {}) do
    wake_later(lane, lanes.state(lane))
  end
  lanes.write_holders()
  lanes.write_tracks()
  lanes.wake_all(changed)
  lanes.write_tracks()
  return #served > 0 or next(parked) ~= nil
end
