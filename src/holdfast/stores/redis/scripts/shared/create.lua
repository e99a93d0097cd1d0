-- include: chain
-- create: which jobs are new, and making them.
local function read_new(v)
  return {
    id = v[1], type = v[2], chain = v[3], index = v[4], priority = v[5], delay = v[6], at = v[7],
    max_attempts = v[8], timeout = v[9], keep = v[10], key = v[11], scope = v[12], window = v[13], exclude = v[14],
    after = v[15], on_blocker_failure = v[16], trace = v[17], input = payload(v[18]),
    -- What `add` will fill in: named here, the table need not grow.
    seq = 0, status = PENDING, attempt = 0, created_at = now, scheduled_at = now, blockers = 0, open_blockers = 0,
    state = '',
  }
end

local function read_all_new(list)
  local jobs = {}
  for n, v in ipairs(list or {}) do
    jobs[n] = read_new(v)
  end
  return jobs
end

local function excluded(job, chain)
  for _, id in ipairs(job.exclude or {}) do
    if id == chain then
      return true
    end
  end
  return false
end

local function within(job, chain)
  return not job.window or load(chain).created_at > now - tonumber(job.window)
end

-- counts_for: whether a chain is in a dedup scope.
local function counts_for(scope, chain)
  if scope ~= 'successful' then
    return true
  end
  local last = last_of(chain)
  return not FINISHED[last.status] or (last.status == COMPLETED and not expired(last))
end

local LOOK = 50

-- by_key: the newest chain in the job's dedup scope.
-- Unfinished chains of a key have an index of their own: however many are finished, the look stays short.
local function by_key(job)
  local key = job.scope == 'incomplete' and keyed_open(job.type, job.key) or keyed(job.type, job.key)
  local from, chains = 0, nil
  repeat
    chains = redis.call('ZREVRANGE', key, from, from + LOOK - 1)
    for _, chain in ipairs(chains) do
      if not excluded(job, chain) and within(job, chain) and counts_for(job.scope, chain) then
        return chain
      end
    end
    from = from + LOOK
  until #chains < LOOK
end

local function made_by_key(made, job)
  for n = #made, 1, -1 do
    if not excluded(job, made[n].id) and (not job.window or tonumber(job.window) > 0) then
      return made[n].id
    end
  end
end

-- preview: for each job the chain it would find, in the store or made earlier in the same batch (`planned`); or false.
local function preview(jobs)
  local planned, same_key, found = {}, {}, {}
  for n, job in ipairs(jobs) do
    local existing = load(job.id)
    local match = existing and chain_of(existing) or planned[job.id] and job.id
    if not match and job.key then
      local name = keyed(job.type, job.key)
      same_key[name] = same_key[name] or {}
      match = made_by_key(same_key[name], job) or by_key(job)
      if not match then
        table.insert(same_key[name], job)
      end
    end
    if not match then
      planned[job.id] = n
    end
    found[n] = match or false
  end
  return found, planned
end

-- missing_blocker: the first of a job's blockers that is neither there nor made in the same step.
local function missing_blocker(job, planned)
  for _, chain in ipairs(job.after or {}) do
    if not (planned and planned[chain]) and not is_chain(chain) then
      return chain
    end
  end
end

local function missing_blockers(jobs, found)
  local planned = {}
  for n, job in ipairs(jobs) do
    if not found[n] then
      local missing = missing_blocker(job, planned)
      if missing then
        return missing
      end
      planned[job.id] = true
    end
  end
end

-- refused_starts: why these starts cannot be written as their transaction was told; nil if they can.
local function refused_starts(jobs, expected)
  if #jobs == 0 then
    return nil
  end
  local found = preview(jobs)
  for n, job in ipairs(jobs) do
    if (found[n] or job.id) ~= expected[n] then
      return { 'Conflict', job.key or '', job.type }
    end
  end
  local missing = missing_blockers(jobs, found)
  return missing and { 'ChainNotFound', missing }
end

local function list_blockers(job, after)
  local open = {}
  for _, chain in ipairs(after) do
    if last_of(chain).status ~= COMPLETED then
      open[#open + 1] = chain
    end
  end
  if #after > 0 then
    redis.call('RPUSH', prefix .. 'a:' .. job.id, unpack(after))
    for _, chain in ipairs(after) do
      redis.call('RPUSH', prefix .. 'd:' .. chain, job.id)
    end
  end
  return open
end

-- add: create a job, blocked where a blocker is still open. What was to be made becomes what is.
local function add(new)
  last_seq = last_seq + 1
  local after = new.after or {}
  local job, chain = new, new.chain
  job.seq, job.chain, job.status, job.attempt, job.created_at = last_seq, nil, PENDING, 0, now
  job.scheduled_at = due_at(new.at, new.delay)
  job.blockers, job.open_blockers = #after, 0
  local open = list_blockers(job, after)
  if #open > 0 then
    job.status = BLOCKED
    job.open_blockers = #open
  end
  loaded[job.id] = job
  if chain ~= job.id then
    job.chain = chain
    redis.call('RPUSH', prefix .. 'c:' .. chain, job.id)
  end
  if job.key and job.index == 0 then
    redis.call('ZADD', keyed(job.type, job.key), int(job.seq), job.id)
    redis.call('ZADD', keyed_open(job.type, job.key), int(job.seq), job.id)
  end
  place(all_key, job.id, job.seq)
  enter(job, 'created', { 'i', new.input })
  for _, chain in ipairs(open) do
    if job.on_blocker_failure == 'fail' and job.status == BLOCKED and FINISHED[last_of(chain).status] then
      fail_with(job, chain)
      chain_broken(chain_of(job))
    end
  end
end

local function set_of(list)
  local set = {}
  for _, each in ipairs(list or {}) do
    set[each] = true
  end
  return set
end

-- start_all: create those of the jobs that `preview` did not find.
local function start_all(jobs, found)
  for n, job in ipairs(jobs) do
    if not found[n] then
      add(job)
    end
  end
end
