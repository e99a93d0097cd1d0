-- include: rates
-- lane_holders: the running jobs of each lane.
-- held: the member of a lane's only running job. If a lane had several, its field is '', and held:LANE has all of them.
-- `lanes.held` has the same fields, false for free lanes, and `lanes.numbers` how many jobs the others have.
lanes.held, lanes.numbers, lanes.changed_holders = {}, {}, {}

-- read_holders: read the running jobs of these lanes, once per script.
function lanes.read_holders(list)
  local unread = {}
  for _, lane in ipairs(list) do
    if lanes.held[lane] == nil then
      unread[#unread + 1] = lane
    end
  end
  for n, only in ipairs(lanes.read_fields('held', unread)) do
    lanes.held[unread[n]] = only
    if only == '' then
      lanes.numbers[unread[n]] = redis.call('ZCARD', lanes.key('held', unread[n]))
    end
  end
end

function lanes.running_in(lane)
  if lanes.held[lane] == nil then
    lanes.read_holders({ lane })
  end
  local only = lanes.held[lane]
  return only == '' and lanes.numbers[lane] or only and 1 or 0
end

-- hold: a job begins to run in a lane. `write_holders` writes it.
function lanes.hold(lane, member)
  local number, only = lanes.running_in(lane), lanes.held[lane]
  if not only then
    lanes.held[lane] = member
  else
    if only ~= '' then
      redis.call('ZADD', lanes.key('held', lane), 0, only)
    end
    redis.call('ZADD', lanes.key('held', lane), 0, member)
    lanes.held[lane], lanes.numbers[lane] = '', number + 1
  end
  lanes.changed_holders[lane] = true
end

-- release: a job no longer runs in a lane.
function lanes.release(lane, member)
  if lanes.held[lane] == nil then
    lanes.read_holders({ lane })
  end
  local only = lanes.held[lane]
  if only == member then
    lanes.held[lane], lanes.changed_holders[lane] = false, true
  elseif only == '' and redis.call('ZREM', lanes.key('held', lane), member) == 1 then
    lanes.numbers[lane] = lanes.numbers[lane] - 1
    if lanes.numbers[lane] == 0 then
      lanes.held[lane], lanes.changed_holders[lane] = false, true
    end
  end
end

function lanes.write_holders()
  local taken, free = {}, {}
  for lane in pairs(lanes.changed_holders) do
    local only = lanes.held[lane]
    if only then
      taken[#taken + 1] = lane
      taken[#taken + 1] = only
    else
      free[#free + 1] = lane
    end
  end
  lanes.write_fields('held', taken)
  write_some('HDEL', prefix .. 'held', free)
  lanes.changed_holders = {}
end

-- holder_ids: the first jobs that hold a lane, at most this many.
function lanes.holder_ids(lane, number)
  local running, ids = lanes.running_in(lane), {}
  local many = lanes.held[lane] == ''
  local members = many and redis.call('ZRANGE', lanes.key('held', lane), 0, number - 1) or { lanes.held[lane] or nil }
  for n, member in ipairs(running > 0 and members or {}) do
    ids[n] = member_id(member)
  end
  return ids
end
