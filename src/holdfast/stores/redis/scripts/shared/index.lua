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

-- Pending and running jobs are counted by the sets that they are in.
local function count(job, by)
  if job.status ~= PENDING and job.status ~= RUNNING then
    local field = job.status .. job.type
    counts[field] = (counts[field] or 0) + by
  end
end

-- Lua gives a command a few thousand arguments at most, and a script that fails on the next keeps half of its writes.
local MOST_ARGUMENTS = 1000

local function write_some(command, key, arguments)
  for from = 1, #arguments, MOST_ARGUMENTS do
    redis.call(command, key, unpack(arguments, from, math.min(from + MOST_ARGUMENTS - 1, #arguments)))
  end
end

-- any_exists: whether any of these keys is there. One command tells it of very many.
local function any_exists(keys)
  for from = 1, #keys, MOST_ARGUMENTS do
    if redis.call('EXISTS', unpack(keys, from, math.min(from + MOST_ARGUMENTS - 1, #keys))) > 0 then
      return true
    end
  end
  return false
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
    -- What is nought is not there.
    if by ~= 0 and redis.call('HINCRBY', prefix .. 'counts', field, int(by)) == 0 then
      redis.call('HDEL', prefix .. 'counts', field)
    end
  end
  places, counts = {}, {}
end

-- Members sort by creation where their scores are equal: eight bytes of number, then the id.
local function ranked(job)
  return struct.pack('>I8', job.seq) .. job.id
end

local function id_of(member)
  return string.sub(member, 9)
end

local all_key = prefix .. 'all'

-- What people look for among a million others, the blocked, failed and cancelled: by their own number, and their chains
-- by that of the first job. Each of them is the last of its chain.
local LISTED = { [BLOCKED] = true, [FAILED] = true, [CANCELLED] = true }

local function listed_jobs(status)
  return prefix .. 'lj:' .. status
end

local function listed_chains(status)
  return prefix .. 'lc:' .. status
end

-- A line: the pending jobs of one type and priority.
local function line_name(type, priority)
  return int(priority) .. ':' .. type
end

local function pending_key(type, priority)
  return prefix .. 'q:' .. line_name(type, priority)
end

local function running_key(type)
  return prefix .. 'r:' .. type
end
