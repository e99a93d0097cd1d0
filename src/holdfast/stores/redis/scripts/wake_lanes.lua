-- wake_lanes: read the lanes of a limit again because its number has changed. Part of set_limit and declare_limits.
-- include: hints
-- lazy: lanes
-- op: { name, cursor }. The answer: the next cursor; '0' at the end.
need_lanes()
local found = redis.call('SSCAN', prefix .. 'parked', op[2], 'COUNT', 100)
for _, lane in ipairs(found[2]) do
  if lanes.name(lane) == op[1] then
    lanes.wake(lane)
  end
end
finish()
return found[1]
