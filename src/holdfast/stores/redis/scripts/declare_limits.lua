-- declare_limits: write declarations that have changed. The numbers of operators stay in force.
-- include: hints
-- lazy: lanes
-- op: declarations as { name, kind, number, per, burst }. The answer: the names of those that have changed.
need_lanes()
local changed = {}
for _, given in ipairs(op) do
  local name, kind, number, per, burst = given[1], given[2], given[3], given[4], given[5]
  local limit = lanes.read_limit(name)
  if not limit or limit.kind ~= kind or limit.declared ~= number or limit.per ~= per or limit.burst ~= burst then
    local override = limit and limit.kind == kind and limit.override or nil
    lanes.write_limit(name, { kind = kind, declared = number, per = per, burst = burst, override = override })
    changed[#changed + 1] = name
  end
end
return changed
