-- wake_lanes: read the lanes of a limit again because its number has changed. Part of set_limit and declare_limits.
-- include: hints
-- lazy: lanes
-- op: { name, cursor }. The answer: the next cursor; '0' at the end.
need_lanes()
local found = redis.call('HSCAN', prefix .. 'parked', op[2], 'COUNT', 100)
for n = 1, #found[2], 2 do
  local lane = found[2][n]
  if lane ~= '' and lanes.name(lane) == op[1] then
    lanes.changed[lane] = true
  end
end
finish()
return found[1]
