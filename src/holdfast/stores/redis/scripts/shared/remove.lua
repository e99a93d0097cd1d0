-- include: change
-- include: chain
-- include: references
-- include: ended_chains
-- include: removed_jobs
-- include: origin
-- remove: delete a chain and all data of its jobs.
-- Jobs that one script deletes, unless a single chain has more.
local MAX_REMOVED = 100

local function length(chain)
  return 1 + redis.call('LLEN', prefix .. 'c:' .. chain)
end

-- releasing: whether a completed chain has dependents to update. If it were deleted now, finished dependents would keep a blocker.
local function releasing(chain)
  return redis.call('HEXISTS', releasing_key, COMPLETED_CHAIN .. chain) == 1
end

local function job_ids(chain)
  local ids = redis.call('LRANGE', prefix .. 'c:' .. chain, 0, -1)
  table.insert(ids, 1, chain)
  return ids
end

local function remove_job(job)
  record_removal(job)
  leave_status(job)
  if has_lanes(job) then
    need_lanes()
    lanes.removed(job)
  end
  index_remove(all_key, job.id)
  if job.status == RUNNING then
    lost_claims[job.id] = true
  end
  if job.blockers > 0 then
    references.forget_dependent(job)
  end
  redis.call('DEL', job_key(job.id), prefix .. 'h:' .. job.id, prefix .. 't:' .. job.id)
  record_event(job, 'deleted')
  loaded[job.id] = false
end

local function remove_chain(chain)
  local first = load(chain)
  if first.key then
    for _, which in ipairs({ 'all', 'open', 'done' }) do
      redis.call('ZREM', key_set(which, first), chain)
    end
  end
  forget_origin(first)
  for _, id in ipairs(job_ids(chain)) do
    remove_job(load(id))
  end
  redis.call('DEL', prefix .. 'c:' .. chain, references.dependents_key(chain), references.stopped_key(chain), prefix .. 'm:' .. chain)
  finished[chain] = true
end
