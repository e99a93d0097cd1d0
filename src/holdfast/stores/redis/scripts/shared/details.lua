-- include: arguments
-- details: what is stored with a job besides its values, as JSON. Details that are only one limit or order are shorter: a
-- byte 1, the letter of the kind, 32 digits of the track, then the lane. See `verbs/short_details.py`.
local SHORT = 1

-- has_lanes: whether a job, or an earlier job of its chain, has to do with lanes.
local function has_lanes(job)
  local details = job.details
  return details and (string.byte(details) == SHORT or string.find(details, '"lanes":', 1, true))
end

-- only_lane: the lane of short details, and the letter of its kind; nil if these are not short.
local function only_lane(details)
  if string.byte(details) == SHORT then
    return string.sub(details, 35), string.sub(details, 2, 2)
  end
end

-- read_short: the lanes of short details; nil if these are not short.
local function read_short(details)
  local lane, kind = only_lane(details)
  if lane then
    kind = kind == 'o' and 'order' or 'limit'
    return { track = string.sub(details, 3, 34), fair = lane, rules = { { lane = lane, kind = kind } } }
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
