-- include: change
-- include: chain
-- include: release
-- blocking: jobs to be made that wait for chains.
-- missing_blocker: the first of a job's blockers that is neither there nor made in the same step.
local function missing_blocker(job, planned)
  for _, chain in ipairs(job.after or {}) do
    if not (planned and planned[chain]) and not is_chain(chain) then
      return chain
    end
  end
end

-- missing_blockers: the first blocker that these jobs cannot wait for, where they are made one after another.
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

-- block: have a new job wait for its blockers. Answers a broken one, where there is any.
local function block(job)
  local given, broken = {}, nil
  for n, chain in ipairs(job.after) do
    local last = last_of(chain)
    given[n] = ranked(load(chain))
    if last.status ~= COMPLETED then
      job.status = BLOCKED
      job.open_blockers = job.open_blockers + 1
      broken = broken or FINISHED[last.status] and chain
    end
  end
  write_some('RPUSH', given_key(job), given)
  wait_for(job, job.after)
  return broken
end
