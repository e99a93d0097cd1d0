-- include: lane_claims
-- single_lane_claims: the usual pass of a claim in a large backlog. It makes no table for a track that stays ready.
-- The first byte of a stored track with one lane: the header of an array of five values.
local ONE_LANE = 149

-- read_single_lanes: the types of these tracks, their lanes for fairness, their only lanes, the states of these, and the
-- tracks as they are stored. Nil if one of them has several lanes, or a rate.
function lanes.read_single_lanes(ids)
  local stored = lanes.read_fields('tracks', ids)
  local types, fairs, found, states, name, state = {}, {}, {}, {}, nil, nil
  for n, packed in ipairs(stored) do
    if not packed or string.byte(packed) ~= ONE_LANE then
      return nil
    end
    local type, _, fair, _, lane = cmsgpack.unpack(string.sub(packed, 2))
    -- Most lanes belong to the limit of the lane before, and share its state.
    if not name or string.sub(lane, 1, #name) ~= name then
      state = lanes.state(lane)
      name = not lanes.overridden and lanes.name(lane) .. '\31'
    end
    if state.kind == 'rate' then
      return nil
    end
    types[n], fairs[n], found[n], states[n] = type, fair, lane, state
  end
  return types, fairs, found, states, stored
end

-- take_single: the first due job of a track whose only lane is free. Nil if there is none, or if `lanes.take_from` must
-- decide. Also the next due job of the track, if any.
function lanes.take_single(track, lane, claimed_by, term)
  local key = lanes.key('wait', track)
  local due_jobs = redis.call('ZRANGEBYSCORE', key, '-inf', lanes.now, 'LIMIT', '0', '2')
  local member = due_jobs[1]
  if not member then
    return nil
  end
  local row = redis.call('HMGET', job_key(member_id(member)), 's', 'i', 'e')
  if not row[1] then
    return nil
  end
  local claimed, type, begun = claimed_by(term, row[1])
  if not claimed then
    return nil
  end
  redis.call('ZREM', key, member)
  return { member = member, term = term, row = row, claimed = claimed, type = type, begun = begun }, due_jobs[2]
end

-- take_front: the same for an order, whose only candidate is the job at the front. Its row shows whether it is pending and
-- due. It belongs to the track if it can be removed from the track's jobs. `emptied` finds the tracks without other jobs.
function lanes.take_front(track, lane, claimed_by, term)
  local member = lanes.front_place(lane)
  if not member then
    return nil
  end
  local row = redis.call('HMGET', job_key(member_id(member)), 's', 'i', 'e')
  if not row[1] then
    return nil
  end
  local claimed, type, begun, _, due_at = claimed_by(term, row[1])
  if not claimed or tonumber(due_at) > now or redis.call('ZREM', lanes.key('wait', track), member) == 0 then
    return nil
  end
  return { member = member, term = term, row = row, claimed = claimed, type = type, begun = begun }
end

-- emptied: which of these places in the list of tracks have a track without pending jobs.
function lanes.emptied(places, ids)
  local keys, empty = {}, {}
  for n, place in ipairs(places) do
    keys[n] = lanes.key('wait', ids[place])
  end
  -- A claim takes fewer jobs than a command may have arguments.
  if #keys > 0 and redis.call('EXISTS', unpack(keys)) < #keys then
    for n, place in ipairs(places) do
      if redis.call('EXISTS', keys[n]) == 0 then
        empty[#empty + 1] = place
      end
    end
  end
  return empty
end

-- serve_single: what `lanes.serve` does. `places`: where the tracks that were served are in the other lists.
function lanes.serve_single(places, ids, types, fairs, ranks, members)
  local shared = tonumber(redis.call('HGET', prefix .. 'lanes', 'shared') or 0) > 0 and {}
  local first, turns, last, priority = lanes.new_turns(#places), {}, 0, string.sub(ranks[1], 1, 8)
  local before, after, laned, only, old, new, left = {}, {}, {}, nil, nil, nil, nil
  for place, n in ipairs(places) do
    local id, type, turn = ids[n], types[n], first + place
    if type ~= only then
      if not before[type] then
        before[type], after[type], laned[type] = {}, {}, {}
      end
      only, old, new, left = type, before[type], after[type], laned[type]
    end
    local rank, size = priority .. struct.pack('>I8', turn) .. id, #old
    old[size + 1], left[size + 1] = ranks[n], members[n]
    new[size * 2 + 1], new[size * 2 + 2] = '0', rank
    turns[last + 1], turns[last + 2], last = id, int(turn), last + 2
    if lanes.tracks[id] then
      lanes.tracks[id].turn, lanes.tracks[id].rank = turn, rank
    end
    if shared then
      shared[place] = { fair = fairs[n], turn = turn, served_at = place }
    end
  end
  for type, list in pairs(before) do
    local key = lanes.key('ready', type)
    if #list == #ranks then
      -- All are served, and of one type: they are the first of its ready tracks.
      redis.call('ZREMRANGEBYRANK', key, 0, #list - 1)
    else
      write_some('ZREM', key, list)
    end
    write_some('ZADD', key, after[type])
    write_some('ZREM', lanes.key('laned', type), laned[type])
  end
  lanes.write_fields('turns', turns)
  if shared then
    lanes.serve_shared(shared)
  end
end

-- single_lane_pass: a pass for `asked` jobs, if there are as many ready tracks, each with one lane that is a limit or an
-- order, all of one priority, and if no plain job of this priority or a higher one is due. Then each track gives at most
-- one job. Adds the jobs to `taken`. Returns whether another pass may find more jobs, or nil if it did nothing.
function lanes.single_lane_pass(ranks, asked, taken, claimed_by, term_of, is_plain_due)
  if asked == 0 or #ranks < asked or string.sub(ranks[1], 1, 8) ~= string.sub(ranks[asked], 1, 8) then
    return nil
  end
  if is_plain_due(2 ^ 32 - struct.unpack('>I8', ranks[1])) then
    return nil
  end
  local ids = {}
  for n, rank in ipairs(ranks) do
    ids[n] = string.sub(rank, 17)
  end
  local types, fairs, found, states, stored = lanes.read_single_lanes(ids)
  if not types then
    return nil
  end
  lanes.read_holders(found)
  local served, members, held, used, orders, tracks, parked, put_back = {}, {}, {}, {}, {}, {}, {}, false
  local function read_track(n)
    local id = ids[n]
    local track = lanes.tracks[id] or lanes.unpack_track(id, stored[n], struct.unpack('>I8', ranks[n], 9), ranks[n])
    tracks[#tracks + 1] = track
    return track
  end
  -- leaves_ready: `end_pass` takes this track out of the ready tracks.
  local function leaves_ready(n)
    local track = read_track(n)
    track.at, track.members, track.has_more = 0, {}, false
  end
  for n, id in ipairs(ids) do
    local lane, state, term, job, more = found[n], states[n], term_of[types[n]], nil, nil
    local is_order = state.kind == 'order'
    if not lanes.held[lane] and state.number > 0 then
      if is_order then
        job = lanes.take_front(id, lane, claimed_by, term)
      else
        job, more = lanes.take_single(id, lane, claimed_by, term)
      end
    end
    if job then
      lanes.held[lane] = job.member
      local size = #held
      held[size + 1], held[size + 2] = lane, job.member
      if is_order then
        orders[#orders + 1] = n
      elseif not more then
        leaves_ready(n)
      elseif state.number > 1 then
        used[#used + 1] = lane
      end
    else
      -- The lane is full, or the track has no job that may start.
      local track = read_track(n)
      lanes.read_members(track, 1, '2')
      put_back = put_back or not track.members[1]
      job = lanes.take_from(track, parked, claimed_by, term)
    end
    if job then
      taken[#taken + 1], served[#served + 1], members[n] = job, n, job.member
    end
  end
  for _, n in ipairs(lanes.emptied(orders, ids)) do
    leaves_ready(n)
  end
  lanes.write_fields('held', held)
  if served[1] then
    lanes.serve_single(served, ids, types, fairs, ranks, members)
  end
  return lanes.end_pass(tracks, {}, {}, parked, used) or put_back
end
