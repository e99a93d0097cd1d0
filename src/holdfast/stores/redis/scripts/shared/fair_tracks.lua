-- include: lane_holders
-- fair_tracks: the tracks that have the same lane for fairness.
-- fairs: the only track of such a lane. If a lane had several, its field is '', and the set fair:LANE has all of them. The
-- field `shared` of `lanes` is the number of such lanes.
lanes.fairs = {}

-- read_fairs: read the tracks of these lanes, once per script.
function lanes.read_fairs(list)
  local unread = {}
  for _, fair in ipairs(list) do
    if lanes.fairs[fair] == nil then
      unread[#unread + 1] = fair
    end
  end
  for n, only in ipairs(lanes.read_fields('fairs', unread)) do
    lanes.fairs[unread[n]] = only
  end
end

function lanes.fair_tracks(fair)
  lanes.read_fairs({ fair })
  local only = lanes.fairs[fair]
  return only == '' and redis.call('SMEMBERS', lanes.key('fair', fair)) or { only or nil }
end

-- add_fair_tracks: these tracks are new.
function lanes.add_fair_tracks(tracks)
  local fairs, changed, fields = {}, {}, {}
  for n, track in ipairs(tracks) do
    fairs[n] = track.fair
  end
  lanes.read_fairs(fairs)
  for _, track in ipairs(tracks) do
    local only = lanes.fairs[track.fair]
    if not only then
      lanes.fairs[track.fair], changed[track.fair] = track.id, true
    elseif only ~= track.id then
      redis.call('SADD', lanes.key('fair', track.fair), track.id, only ~= '' and only or track.id)
      if only ~= '' then
        redis.call('HINCRBY', prefix .. 'lanes', 'shared', 1)
      end
      lanes.fairs[track.fair], changed[track.fair] = '', true
    end
  end
  for fair in pairs(changed) do
    fields[#fields + 1] = fair
    fields[#fields + 1] = lanes.fairs[fair]
  end
  lanes.write_fields('fairs', fields)
end

-- remove_fair_tracks: these tracks no longer exist.
function lanes.remove_fair_tracks(tracks)
  local fairs, empty = {}, {}
  for n, track in ipairs(tracks) do
    fairs[n] = track.fair
  end
  lanes.read_fairs(fairs)
  for _, track in ipairs(tracks) do
    local only, set = lanes.fairs[track.fair], lanes.key('fair', track.fair)
    if only == track.id or (only == '' and redis.call('SREM', set, track.id) == 1 and redis.call('EXISTS', set) == 0) then
      if only == '' then
        redis.call('HINCRBY', prefix .. 'lanes', 'shared', -1)
      end
      lanes.fairs[track.fair] = false
      empty[#empty + 1] = track.fair
    end
  end
  write_some('HDEL', prefix .. 'fairs', empty)
end
