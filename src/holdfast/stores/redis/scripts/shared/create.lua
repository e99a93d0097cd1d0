-- include: find_existing
-- include: enter_pending
-- include: release_ended
-- lazy: blocking
-- lazy: replace
-- create: read and create new jobs.
-- A new job: { id, type, number of its payloads, priority, delay, at, chain, key, scope, window, exclude, after,
-- on_blocker_failure, whether it has lanes, types of its blockers, due within, the job that starts it }, without
-- trailing nils. Its payloads are the rest of its state, and its input.
local function read_new(v)
  return {
    id = v[1], type = v[2], rest = payload(v[3]), input = payload(v[3] + 1), priority = v[4] or 0, delay = v[5] or 0,
    at = v[6], chain = v[7], key = v[8], scope = v[9], window = v[10], exclude = v[11], after = v[12],
    on_blocker_failure = v[13], has_lanes = v[14], blocker_types = v[15], due_within = v[16], origin = v[17],
    -- `add` sets these. They are listed here so that the table does not have to grow.
    seq = 0, scheduled_at = now, open_blockers = 0,
  }
end

-- read_all_new: new jobs, with whether one of them `waits` for blockers, and whether one may replace a chain.
local function read_all_new(list)
  local jobs = { waits = false, replacing = false }
  for n, v in ipairs(list or {}) do
    jobs[n] = read_new(v)
    jobs.waits = jobs.waits or v[12]
    jobs.replacing = jobs.replacing or v[9] == 'waiting'
  end
  return jobs
end

-- refused_waits: why one of these jobs cannot wait for its blockers; nil if they can.
local function refused_waits(jobs, found)
  for n, job in ipairs(jobs) do
    if job.after and (not found[n] or job.replaces) then
      need_blocking()
      return refused_blockers(jobs, found)
    end
  end
end

-- refused_new: why these jobs cannot be written: a refused blocker, or a cycle that a replaced chain would close.
local function refused_new(jobs, found)
  if not jobs.waits then
    return nil
  end
  local refused = refused_waits(jobs, found)
  if refused then
    return refused
  end
  for _, job in ipairs(jobs) do
    if job.replaces and job.after then
      need_replace()
      return refused_replacement(jobs, found)
    end
  end
end

-- refused_starts: why these starts differ from what their transaction promised; nil if they do not.
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
  return refused_new(jobs, found)
end

-- add: create a job, blocked if a blocker is open. The caller has encoded the state except for its first five values.
local function add(job)
  last_seq = last_seq + 1
  job.seq, job.status = last_seq, PENDING
  if job.at or job.delay ~= 0 then
    job.scheduled_at = due_at(job.at, job.delay)
  end
  local broken
  if job.after then
    need_blocking()
    broken = block(job)
  end
  local chain = job.chain
  if chain then
    redis.call('RPUSH', prefix .. 'c:' .. chain, job.id)
  elseif job.key then
    redis.call('ZADD', key_set('all', job), job.seq, job.id)
    redis.call('ZADD', key_set('open', job), job.seq, job.id)
  end
  if job.origin then
    redis.call('ZADD', prefix .. 'st:' .. job.origin, job.seq, job.id)
  end
  index_add(all_key, job.id, job.seq)
  if job.status == BLOCKED then
    count(job, 1)
  end
  counters.started(job.type)
  local later = job.scheduled_at ~= now and job.scheduled_at or nil
  local start = cmsgpack.pack(job.seq, now, later, job.status, job.open_blockers)
  redis.call('HSET', job_key(job.id), 's', start .. job.rest, 'i', job.input)
  if job.status == PENDING and not job.has_lanes then
    enter_pending(job)
  end
  -- Read it from its stored state from here on.
  loaded[job.id] = nil
  if job.has_lanes then
    need_blocking()
    need_lanes()
    loaded[job.id] = unpack_job(job.id, start .. job.rest)
    lanes.entered(loaded[job.id], 'created')
  end
  if job.status == BLOCKED then
    list_by_status(load(job.id), true)
  end
  if listening then
    record_event(load(job.id), 'created')
  end
  if broken and job.on_blocker_failure == 'fail' then
    job.ended = true
    fail_with(load(job.id), broken)
  elseif job.status == BLOCKED and job.open_blockers == 0 then
    job.ended = true
    rules.cancel(load(job.id))
  end
end

-- start_all: create the jobs for which `preview` found no chain, and write those that replace one. Returns how many of
-- both.
local function start_all(jobs, found)
  local created, replaced, made = 0, 0, {}
  for n, job in ipairs(jobs) do
    if not found[n] then
      add(job)
      created = created + 1
      if jobs.replacing then
        made[job.id] = job
      end
    elseif job.replaces then
      need_replace()
      replace_chain(found[n], job)
      replaced = replaced + 1
      if made[found[n]] then
        -- Its chain is part of the answer, as it is now.
        made[found[n]].ended = true
      end
    end
  end
  return created, replaced
end
