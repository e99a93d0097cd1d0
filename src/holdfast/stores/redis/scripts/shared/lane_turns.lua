-- include: lanes
-- lane_turns: the turns of the tracks of which a claim took jobs.
-- serve: put the tracks that were served, and those with the same lane for fairness, behind all others, in the order of
-- the last jobs.
function lanes.serve(served)
  local shared = tonumber(redis.call('HGET', prefix .. 'lanes', 'shared') or 0) > 0
  local turn, turns, before, after = lanes.new_turns(#served), {}, {}, {}
  for n, track in ipairs(served) do
    track.served_at = n
  end
  for n, track in ipairs(served) do
    if track.served_at == n then
      local type, last = track.type, #turns
      if not before[type] then
        before[type], after[type] = {}, {}
      end
      table.insert(before[type], lanes.rank_of(track))
      track.turn, track.rank = turn + n, nil
      local ranks, place = after[type], #after[type]
      ranks[place + 1], ranks[place + 2] = 0, lanes.rank_of(track)
      turns[last + 1], turns[last + 2] = track.id, int(track.turn)
    end
  end
  for type, ranks in pairs(before) do
    write_some('ZREM', lanes.key('ready', type), ranks)
    write_some('ZADD', lanes.key('ready', type), after[type])
  end
  lanes.write_fields('turns', turns)
  if shared then
    lanes.serve_shared(served)
  end
end

-- serve_shared: give the other tracks with the same lane for fairness the turn of the last track that was served.
function lanes.serve_shared(served)
  local fairs, turns = {}, {}
  for n, track in ipairs(served) do
    fairs[n] = track.fair
    turns[track.fair] = track.served_at == n and track.turn or turns[track.fair]
  end
  lanes.read_fairs(fairs)
  for fair, turn in pairs(turns) do
    local ids = lanes.fairs[fair] == '' and lanes.fair_tracks(fair) or {}
    lanes.read_tracks(ids)
    for _, id in ipairs(ids) do
      local track = lanes.tracks[id]
      local key = track.parked and lanes.parked_key(track.parked, track.type) or lanes.key('ready', track.type)
      local is_here = redis.call('ZREM', key, lanes.rank_of(track)) == 1
      track.turn, track.rank, lanes.changed_tracks[id] = turn, nil, true
      if is_here then
        index_add(key, lanes.rank_of(track), 0)
      end
    end
  end
end
