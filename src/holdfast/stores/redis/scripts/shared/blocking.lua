-- include: change
-- include: chain
-- include: release_dependents
-- blocking: blockers of jobs that are being created.
-- refused_blocker: why a job cannot wait for its blockers: one does not exist, or has another type than the job needs.
-- planned: the types of the chains that the same script creates.
local function refused_blocker(job, planned)
  local types = {}
  for n, chain in ipairs(job.after or {}) do
    types[n] = is_chain(chain) and load(chain).type or planned[chain]
    if not types[n] then
      return { 'ChainNotFound', chain }
    end
  end
  for n, wanted in ipairs(job.blocker_types or {}) do
    if types[n] ~= wanted then
      return { 'WrongBlockers', job.type, job.after[n], types[n], wanted }
    end
  end
end

-- refused_blockers: the same for jobs that are created in this order.
local function refused_blockers(jobs, found)
  local planned = {}
  for n, job in ipairs(jobs) do
    if not found[n] or job.replaces then
      local refused = refused_blocker(job, planned)
      if refused then
        return refused
      end
      planned[found[n] or job.id] = job.type
    end
  end
end

-- block: make a new job wait for its blockers. Returns a blocker that failed or was cancelled, or nil. A job that waits
-- for a failure, and whose blockers all completed, is blocked without an open blocker: the caller cancels it.
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
  if rules.waits(job) then
    local status, left = rules.status(job.on_blocker_failure, job.after, {})
    job.status, job.open_blockers = status == PENDING and PENDING or BLOCKED, left
  end
  references.add_dependent(job, job.after, given)
  return broken
end
