-- include: fair_tracks
-- tracks: the tracks, and the sets in which they are: ready, timed, or parked at a lane.
-- Changes of the sets are collected like those of other indexes: `write_tracks` and `finish` write them.
lanes.tracks, lanes.changed_tracks, lanes.removed_tracks = {}, {}, {}

-- new_turns: take this many new turns. Returns the turn before them.
function lanes.new_turns(number)
  return redis.call('HINCRBY', prefix .. 'lanes', 'turn', number) - number
end

-- A rank sorts by priority, then turn: tracks with a lower turn come first.
function lanes.rank_of(track)
  if not track.rank then
    track.rank = struct.pack('>I8I8', 2 ^ 32 - tonumber(track.priority), tonumber(track.turn)) .. track.id
  end
  return track.rank
end

function lanes.unpack_track(id, packed, turn, rank)
  local own = cmsgpack.unpack(packed)
  -- A claim sets the fields from `at` on. They are listed here so that the table does not have to grow.
  local track = {
    id = id, type = own[1], priority = own[2], fair = own[3], order = own[4] ~= '' and own[4] or nil,
    lanes = { unpack(own, 5) }, turn = turn, parked = nil, rank = rank, at = 0, members = false, has_more = false,
    served_at = 0, has_rate = nil,
  }
  lanes.tracks[id] = track
  return track
end

-- read_tracks: read these tracks, each once per script. Later changes of a track are made here and in the store.
function lanes.read_tracks(ids)
  local unread = {}
  for _, id in ipairs(ids) do
    if not lanes.tracks[id] then
      unread[#unread + 1] = id
    end
  end
  if #unread > 0 then
    local turns = lanes.read_fields('turns', unread)
    for n, packed in ipairs(lanes.read_fields('tracks', unread)) do
      if packed then
        local turn, lane = string.match(turns[n], '^(%d+):?(.*)$')
        lanes.unpack_track(unread[n], packed, turn).parked = lane ~= '' and lane or nil
      end
    end
  end
end

-- read_track: a track; nil if there is none.
function lanes.read_track(id)
  lanes.read_tracks({ id })
  return lanes.tracks[id]
end

-- read_ready: the tracks with these ranks, which are ready.
function lanes.read_ready(ranks)
  local tracks, unread, places = {}, {}, {}
  for n, rank in ipairs(ranks) do
    local id = string.sub(rank, 17)
    tracks[n] = lanes.tracks[id] or false
    if not tracks[n] then
      unread[#unread + 1], places[#places + 1] = id, n
    end
  end
  for n, packed in ipairs(lanes.read_fields('tracks', unread)) do
    local place = places[n]
    tracks[place] = lanes.unpack_track(unread[n], packed, struct.unpack('>I8', ranks[place], 9), ranks[place])
  end
  return tracks
end

-- add_tracks: create these tracks.
function lanes.add_tracks(tracks)
  local turn, fields = lanes.new_turns(#tracks), {}
  for n, track in ipairs(tracks) do
    track.turn = turn + n
    lanes.tracks[track.id], lanes.changed_tracks[track.id] = track, true
    fields[#fields + 1] = track.id
    fields[#fields + 1] = cmsgpack.pack({ track.type, track.priority, track.fair, track.order or '', unpack(track.lanes) })
    -- This field of the root shows that the type exists.
    fields.types = fields.types or {}
    fields.types['l:0:' .. track.type] = true
  end
  lanes.write_fields('tracks', fields)
  for field in pairs(fields.types) do
    redis.call('HSET', KEYS[1], 'lanes', '', field, '')
  end
  lanes.add_fair_tracks(tracks)
end

-- remove_track: delete a track that has no jobs.
function lanes.remove_track(track)
  lanes.leave_sets(track)
  lanes.tracks[track.id], lanes.changed_tracks[track.id] = nil, nil
  table.insert(lanes.removed_tracks, track)
end

-- leave_sets: take a track out of the set that it is in.
function lanes.leave_sets(track)
  if track.parked then
    index_remove(lanes.parked_key(track.parked, track.type), lanes.rank_of(track))
    track.parked = nil
    lanes.changed_tracks[track.id] = true
  else
    index_remove(lanes.key('ready', track.type), lanes.rank_of(track))
    index_remove(lanes.key('timed', track.type), track.id)
  end
end

-- write_tracks: write the collected changes of tracks and of the sets that they are in.
function lanes.write_tracks()
  local fields, ids = {}, {}
  for id in pairs(lanes.changed_tracks) do
    local track = lanes.tracks[id]
    fields[#fields + 1] = id
    fields[#fields + 1] = int(track.turn) .. (track.parked and ':' .. track.parked or '')
  end
  lanes.write_fields('turns', fields)
  lanes.changed_tracks = {}
  for n, track in ipairs(lanes.removed_tracks) do
    ids[n] = track.id
  end
  write_some('HDEL', prefix .. 'turns', ids)
  write_some('HDEL', prefix .. 'tracks', ids)
  lanes.remove_fair_tracks(lanes.removed_tracks)
  lanes.removed_tracks = {}
  lanes.write_types()
  write_indexes()
end
