-- include: job
-- index: the sorted sets that rows are found by, and the counts. Gathered while a script runs, written at its end:
-- a hundred jobs of one type are one command.
local places = {}
local counts = {}

local function place(key, member, score)
  local members = places[key]
  if not members then
    members = {}
    places[key] = members
  end
  members[member] = score
end

local function displace(key, member)
  place(key, member, false)
end

local function count(job, by)
  local field = job.status .. job.type
  counts[field] = (counts[field] or 0) + by
end

local MOST_ARGUMENTS = 1000

local function write_some(command, key, arguments)
  for from = 1, #arguments, MOST_ARGUMENTS do
    redis.call(command, key, unpack(arguments, from, math.min(from + MOST_ARGUMENTS - 1, #arguments)))
  end
end

local function write_places(key, members)
  local added, dropped, n = {}, {}, 0
  for member, score in pairs(members) do
    if score then
      -- Given as a number, the server writes all its digits.
      added[n + 1], added[n + 2], n = score, member, n + 2
    else
      dropped[#dropped + 1] = member
    end
  end
  write_some('ZREM', key, dropped)
  write_some('ZADD', key, added)
end

local function write_indexes()
  for key, members in pairs(places) do
    write_places(key, members)
  end
  for field, by in pairs(counts) do
    -- A type of which nothing is left is a type nobody hears of.
    if by ~= 0 and redis.call('HINCRBY', prefix .. 'counts', field, int(by)) == 0 then
      redis.call('HDEL', prefix .. 'counts', field)
    end
  end
end

-- Members sort by creation where their scores are equal.
local function ranked(job)
  return string.format('%016.0f', job.seq) .. job.id
end

local function id_of(member)
  return string.sub(member, 17)
end

local all_key = prefix .. 'all'
local pending_keys = {}

-- A batch is mostly of one type and priority: its key is made once.
local function pending_key(type, priority)
  local keys = pending_keys[type]
  if not keys then
    keys = {}
    pending_keys[type] = keys
  end
  local key = keys[priority]
  if not key then
    key = prefix .. 'q:' .. int(priority) .. ':' .. type
    keys[priority] = key
  end
  return key
end

local function priorities_key(type)
  return prefix .. 'p:' .. type
end

local function running_key(type)
  return prefix .. 'r:' .. type
end

local function keyed(type, key)
  return prefix .. 'k:' .. #type .. ':' .. type .. key
end

-- The chains of a key that are not finished.
local function keyed_open(type, key)
  return prefix .. 'o:' .. #type .. ':' .. type .. key
end
