-- include: arguments
-- details: what is stored with a job besides its values, as JSON. Details that are only one limit or order are shorter: a
-- byte 1, the letter of the kind, 32 digits of the track, then the lane. See `verbs/short_details.py`.
local SHORT, ORDER = 1, string.byte('o')

-- has_lanes: whether a job, or an earlier job of its chain, has to do with lanes.
local function has_lanes(job)
  local details = job.details
  return details and (string.byte(details) == SHORT or string.find(details, '"lanes":', 1, true))
end

-- only_lane: the lane of short details, and whether it is an order; nil if these are not short.
local function only_lane(details)
  local mark, letter = string.byte(details, 1, 2)
  if mark == SHORT then
    return string.sub(details, 35), letter == ORDER
  end
end

-- read_short: the lanes of short details; nil if these are not short.
local function read_short(details)
  local lane, is_order = only_lane(details)
  if lane then
    local rule = { lane = lane, kind = is_order and 'order' or 'limit' }
    return { track = string.sub(details, 3, 34), fair = lane, rules = { rule } }
  end
end

-- long_details: the details of a job as JSON; nil if it has none.
local function long_details(job)
  local own = job.details and read_short(job.details)
  if not own then
    return job.details
  end
  local lane = cjson.encode(own.fair)
  return '{"lanes":{"track":"' .. own.track .. '","type":' .. cjson.encode(job.type) .. ',"priority":' .. int(job.priority)
    .. ',"fair":' .. lane .. ',"rules":[{"lane":' .. lane .. ',"kind":"' .. own.rules[1].kind .. '"}]}}'
end
