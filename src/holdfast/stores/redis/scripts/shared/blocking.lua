-- include: change
-- include: chain
-- include: release_dependents
-- blocking: blockers of jobs that are being created.
-- missing_blocker: the first blocker of a job that neither exists nor is created by the same script.
local function missing_blocker(job, planned)
  for _, chain in ipairs(job.after or {}) do
    if not (planned and planned[chain]) and not is_chain(chain) then
      return chain
    end
  end
end

-- missing_blockers: the first missing blocker of these jobs, which are created in this order.
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

-- block: make a new job wait for its blockers. Returns a blocker that failed or was cancelled, or nil.
local function block(job)
  local given, broken = {}, nil
  for n, chain in ipairs(job.after) do
    local last = last_of(chain)
    given[n] = index_member(load(chain))
    if last.status ~= COMPLETED then
      job.status = BLOCKED
      job.open_blockers = job.open_blockers + 1
      broken = broken or FINISHED[last.status] and chain
    end
  end
  write_some('RPUSH', blockers_key(job), given)
  add_dependent(job, job.after)
  return broken
end
