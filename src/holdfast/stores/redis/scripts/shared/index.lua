-- include: job
-- index: the sorted sets by which jobs and chains are found, and the counts. Changes are collected while a script runs
-- and written at its end, so that a hundred jobs of one type need one command.
local index_changes = {}
local counts = {}

local function index_add(key, member, score)
  local members = index_changes[key]
  if not members then
    members = {}
    index_changes[key] = members
  end
  members[member] = score
end

local function index_remove(key, member)
  index_add(key, member, false)
end

-- Pending and running jobs are not counted: the sizes of their sorted sets are their counts.
local function count(job, by)
  if job.status ~= PENDING and job.status ~= RUNNING then
    local field = job.status .. job.type
    counts[field] = (counts[field] or 0) + by
  end
end

-- Lua passes at most a few thousand arguments to a command. A script that fails there keeps its earlier writes.
local MAX_ARGUMENTS = 1000

local function write_some(command, key, arguments)
  for from = 1, #arguments, MAX_ARGUMENTS do
    redis.call(command, key, unpack(arguments, from, math.min(from + MAX_ARGUMENTS - 1, #arguments)))
  end
end

-- any_exists: whether any of these keys exists. One command checks up to a thousand.
local function any_exists(keys)
  for from = 1, #keys, MAX_ARGUMENTS do
    if redis.call('EXISTS', unpack(keys, from, math.min(from + MAX_ARGUMENTS - 1, #keys))) > 0 then
      return true
    end
  end
  return false
end

local function write_index(key, members)
  local added, dropped, n, last, text = {}, {}, 0, nil, nil
  for member, score in pairs(members) do
    if score then
      -- As text: the jobs of a script usually have the same time, which is then formatted once.
      if score ~= last then
        last, text = score, int(score)
      end
      added[n + 1], added[n + 2], n = text, member, n + 2
    else
      dropped[#dropped + 1] = member
    end
  end
  write_some('ZREM', key, dropped)
  write_some('ZADD', key, added)
end

local function write_indexes()
  for key, members in pairs(index_changes) do
    write_index(key, members)
  end
  for field, by in pairs(counts) do
    -- A count of 0 has no field.
    if by ~= 0 and redis.call('HINCRBY', prefix .. 'counts', field, int(by)) == 0 then
      redis.call('HDEL', prefix .. 'counts', field)
    end
  end
  index_changes, counts = {}, {}
end

-- A member is the number as eight bytes, then the id: members with equal scores sort by creation.
local function index_member(job)
  return struct.pack('>I8', job.seq) .. job.id
end

local function member_id(member)
  return string.sub(member, 9)
end

local all_key = prefix .. 'all'

-- Blocked, failed and cancelled jobs have their own sets, so that they are found quickly among millions of others: the
-- jobs by their number, and their chains by the number of the first job. Each such job is the last of its chain.
local LISTED = { [BLOCKED] = true, [FAILED] = true, [CANCELLED] = true }

local function listed_jobs(status)
  return prefix .. 'lj:' .. status
end

local function listed_chains(status)
  return prefix .. 'lc:' .. status
end

-- A pending set: the pending jobs of one type and priority.
local function pending_set_name(type, priority)
  return int(priority) .. ':' .. type
end

local function pending_key(type, priority)
  return prefix .. 'q:' .. pending_set_name(type, priority)
end

local function running_key(type)
  return prefix .. 'r:' .. type
end

-- key_set: the chains of one type and key, by their number: all of them, the unfinished, the completed.
-- Named by text: a script function can refer to sixty names outside of it at most.
local KEY_SETS = { all = 'k:', open = 'o:', done = 'w:' }

local function key_set(which, first)
  return prefix .. KEY_SETS[which] .. #first.type .. ':' .. first.type .. first.key
end
