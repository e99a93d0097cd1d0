-- include: index
-- pending_sets: the fields of the root name the pending sets that exist or existed, and the paused types. A type without
-- pending jobs keeps its field for priority 0.
local PENDING_SET, PAUSED = 'l:', 'p:'

-- read_pending_sets: per type, the priorities of its pending sets, as text; the set of paused types; and whether jobs
-- with lanes were started.
local function read_pending_sets()
  local priorities, paused, has_lanes_field = {}, {}, false
  local fields = redis.call('HKEYS', root)
  for _, field in ipairs(fields) do
    local kind, name = string.sub(field, 1, 2), string.sub(field, 3)
    if kind == PENDING_SET then
      local priority, type = string.match(name, '^(-?%d+):(.*)$')
      priorities[type] = priorities[type] or {}
      table.insert(priorities[type], priority)
    elseif kind == PAUSED then
      paused[name] = true
    elseif field == 'lanes' then
      has_lanes_field = true
    end
  end
  return priorities, paused, has_lanes_field
end
