-- include: index
-- lines: the root's fields tell which lines there are or were, and which types are paused. A type whose jobs are all
-- taken stays there under priority 0.
local LINE, PAUSED = 'l:', 'p:'

-- read_lines: of each type, the priorities that pending jobs have or had, as text; and the set of paused types.
local function read_lines()
  local lines, paused = {}, {}
  local fields = redis.call('HKEYS', root)
  for _, field in ipairs(fields) do
    local kind, name = string.sub(field, 1, 2), string.sub(field, 3)
    if kind == LINE then
      local priority, type = string.match(name, '^(-?%d+):(.*)$')
      lines[type] = lines[type] or {}
      table.insert(lines[type], priority)
    elseif kind == PAUSED then
      paused[name] = true
    end
  end
  return lines, paused
end
