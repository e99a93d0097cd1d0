-- include: tracks
-- parking: which tracks a claim reads, and which wait for a lane.
lanes.types, lanes.changed_types = {}, {}

function lanes.parked_key(lane, type)
  return lanes.key('parked', lane) .. ':' .. type
end

-- read_types: read the types that may have tracks parked at these lanes, once per script.
function lanes.read_types(list)
  local unread = {}
  for _, lane in ipairs(list) do
    if lanes.types[lane] == nil then
      unread[#unread + 1] = lane
    end
  end
  for n, packed in ipairs(lanes.read_fields('parked', unread)) do
    lanes.types[unread[n]] = packed and cmsgpack.unpack(packed)
  end
end

-- write_types: write the changes of these types. Part of `write_tracks`.
function lanes.write_types()
  local some, none = {}, {}
  for lane in pairs(lanes.changed_types) do
    if lanes.types[lane] then
      some[#some + 1] = lane
      some[#some + 1] = cmsgpack.pack(lanes.types[lane])
    else
      none[#none + 1] = lane
    end
  end
  lanes.write_fields('parked', some)
  write_some('HDEL', prefix .. 'parked', none)
  lanes.changed_types = {}
end

function lanes.make_ready(track)
  if track.parked then
    lanes.leave_sets(track)
  else
    index_remove(lanes.key('timed', track.type), track.id)
  end
  index_add(lanes.key('ready', track.type), lanes.rank_of(track), 0)
  due[track.type] = true
end

function lanes.make_ready_at(track, at)
  lanes.leave_sets(track)
  index_add(lanes.key('timed', track.type), track.id, at)
end

function lanes.park(track, lane)
  if track.parked == lane then
    return
  end
  lanes.leave_sets(track)
  track.parked = lane
  lanes.changed_tracks[track.id] = true
  index_add(lanes.parked_key(lane, track.type), lanes.rank_of(track), 0)
  lanes.read_types({ lane })
  local types = lanes.types[lane] or {}
  for _, type in ipairs(types) do
    if type == track.type then
      return
    end
  end
  types[#types + 1] = track.type
  lanes.types[lane], lanes.changed_types[lane] = types, true
end

-- wake_order: make the track of the front of an order ready, if it is parked there.
function lanes.wake_order(lane, types)
  local job = lanes.front_job(lane)
  local track = job and lanes.read_track(lanes.of(job).track)
  local left = {}
  for _, type in ipairs(types) do
    local number = redis.call('ZCARD', lanes.parked_key(lane, type))
    if track and track.parked == lane and track.type == type then
      lanes.make_ready(track)
      number = number - 1
    end
    if number > 0 then
      left[#left + 1] = type
    end
  end
  return left
end

-- wake_limit: of each type, make as many parked tracks ready as the lane has room for.
function lanes.wake_limit(lane, types, room)
  local left = {}
  for _, type in ipairs(types) do
    -- One more than there is room for: it shows whether others stay parked.
    local ranks = redis.call('ZRANGE', lanes.parked_key(lane, type), 0, room)
    if table.remove(ranks, room + 1) then
      left[#left + 1] = type
    end
    local ids = {}
    for n, rank in ipairs(ranks) do
      ids[n] = string.sub(rank, 17)
    end
    lanes.read_tracks(ids)
    for _, id in ipairs(ids) do
      lanes.make_ready(lanes.tracks[id])
    end
  end
  return left
end

-- wake: a lane at which tracks are parked has changed.
function lanes.wake(lane, types)
  local state = lanes.state(lane)
  local room = lanes.room_in(state, lane)
  if room == 0 then
    local at = state.kind == 'rate' and lanes.rate_allows_at(state, 1)
    if at then
      redis.call('ZADD', prefix .. 'wakes', int(at), lane)
    end
    return
  end
  local left = state.kind == 'order' and lanes.wake_order(lane, types) or lanes.wake_limit(lane, types, room)
  local reserving = state.reserved_by and now >= state.reserved_at and lanes.read_track(state.reserved_by)
  if reserving and reserving.parked == lane then
    lanes.make_ready(reserving)
  end
  if #left < #types then
    lanes.types[lane], lanes.changed_types[lane] = #left > 0 and left, true
  end
end

-- any_parked: whether tracks may be parked at lanes. The field '' is not a lane.
function lanes.any_parked()
  return redis.call('HLEN', prefix .. 'parked') > 1
end

-- wake_all: these lanes have changed. The changes of all sets must be written before.
function lanes.wake_all(list)
  if #list == 0 or not lanes.any_parked() then
    return
  end
  lanes.read_types(list)
  for _, lane in ipairs(list) do
    if lanes.types[lane] then
      lanes.wake(lane, lanes.types[lane])
    end
  end
end
