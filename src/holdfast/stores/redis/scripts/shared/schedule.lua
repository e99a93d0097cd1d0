-- include: arguments
-- schedule: the rows of schedules. A row is a hash: `v` the version, `t` the job type, `b` the body, which no script decodes.
local schedule_names = prefix .. 'schedules'

local function schedule_key(name)
  return prefix .. 'schedule:' .. name
end

local function ticks_key(type)
  return prefix .. 'ticks:' .. type
end

-- show_schedule: append a schedule to an answer: name, version, body.
local function show_schedule(answer, name)
  local row = redis.call('HMGET', schedule_key(name), 'v', 'b')
  if row[1] then
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3] = name, row[1], row[2]
  end
end
