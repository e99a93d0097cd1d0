-- retry: make failed or cancelled jobs pending again (blocked if blockers are open), with all attempts.
-- include: operator_checks
-- include: change
-- include: release_ended
-- include: release_dependents
-- include: dependency_cycle
-- include: audit
-- lazy: retry_from_step
-- op: { job ids, whether to check only, { user, reason } or nil, the step from which to retry or nil }
local ids = op[1]
local wanted = { [FAILED] = true, [CANCELLED] = true }
if saved_reply() then
  return show_jobs(ids)
end
local wrong = refused_job(ids, wanted)
if wrong then
  return wrong
end

local retried, open_blockers = {}, {}
for _, id in ipairs(ids) do
  retried[chain_of(load(id))] = true
end

-- open_after_retry: how many blockers a job with `when=` waits for after the retry; or nil, and why it is refused.
local function open_after_retry(job)
  local chains = references.blockers_of(job)
  local status, left = rules.status(job.on_blocker_failure, chains, retried)
  if status == CANCELLED and job.blockers > 0 then
    return nil, { #chains < job.blockers and 'BlockerDeleted' or 'NoneFailed', job.id, job.status }
  end
  return left
end

-- open_completions: the same for a job that waits for completions. Its stored number is exact.
local function open_completions(job)
  local open = 0
  for _, chain in ipairs(job.open_blockers > 0 and references.blockers_of(job) or {}) do
    if last_of(chain).status ~= COMPLETED or unreleased(job, chain) then
      open = open + 1
    end
  end
  if job.open_blockers > open then
    return nil, { 'BlockerDeleted', job.id, job.status }
  end
  return job.open_blockers
end

for _, id in ipairs(ids) do
  local job, refused = load(id), nil
  open_blockers[id], refused = (rules.waits(job) and open_after_retry or open_completions)(job)
  if refused then
    return refused
  end
end

-- A key has at most one unfinished chain, also after a retry.
local live = {}
for _, id in ipairs(ids) do
  local job = load(id)
  local first = load(chain_of(job))
  if first.key then
    local name = key_set('open', first)
    live[name] = live[name] or redis.call('ZRANGE', name, -1, -1)[1] or first.id
    if live[name] ~= first.id then
      return { 'KeyTaken', id, job.status, live[name] }
    end
  end
end

-- A job that waits for a chain that waits for its own chain could never start.
local blockers = {}
for _, id in ipairs(ids) do
  local job = load(id)
  blockers[chain_of(job)] = open_blockers[id] > 0 and references.blockers_of(job) or nil
end
for _, id in ipairs(ids) do
  local chain = chain_of(load(id))
  local refused = blockers[chain] and refused_cycle(chain, blockers[chain], blockers)
  if refused then
    return refused
  end
end
local removed = {}
if op[4] then
  need_retry_from_step()
  for _, id in ipairs(ids) do
    removed[id] = from_step.removed(id, op[4])
    if not removed[id] then
      return { 'StepNotFound', id, op[4] }
    end
  end
end
if op[2] then
  return { 'ok' }
end

for _, id in ipairs(ids) do
  local job = load(id)
  if wanted[job.status] then
    if removed[id] then
      from_step.remove(job, removed[id])
    end
    leave_status(job)
    job.open_blockers = open_blockers[id]
    job.status = job.open_blockers > 0 and BLOCKED or PENDING
    job.attempt, job.scheduled_at, job.finished_at, job.token = 0, now, nil, nil
    if job.blockers > 0 then
      references.add_dependent(job, references.blockers_of(job))
    end
    enter_status(job, 'retried')
    write_audit(op[3], 'retry', id, chain_of(job))
    local first = load(chain_of(job))
    if first.key then
      redis.call('ZADD', key_set('open', first), int(first.seq), first.id)
    end
  end
end
save_reply(ids)
finish()
return show_jobs(ids)
