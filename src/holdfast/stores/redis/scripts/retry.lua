-- retry: make failed or cancelled jobs pending again (blocked if blockers are open), with all attempts.
-- include: operator_checks
-- include: change
-- include: release_ended
-- include: release_dependents
-- include: dependency_cycle
-- include: saved_reply
-- op: { job ids, whether to check only }
local ids = op[1]
local wanted = { [FAILED] = true, [CANCELLED] = true }
if saved_reply() then
  return show_jobs(ids)
end
local wrong = refused_job(ids, wanted)
if wrong then
  return wrong
end
for _, id in ipairs(ids) do
  local job, open = load(id), 0
  for _, chain in ipairs(job.open_blockers > 0 and blockers_of(job) or {}) do
    if last_of(chain).status ~= COMPLETED or unreleased(job, chain) then
      open = open + 1
    end
  end
  if job.open_blockers > open then
    return { 'BlockerDeleted', id, job.status }
  end
end

-- A key has at most one unfinished chain, also after a retry.
local live = {}
for _, id in ipairs(ids) do
  local job = load(id)
  local first = load(chain_of(job))
  if first.key then
    local name = key_set(OPEN, first)
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
  blockers[chain_of(job)] = job.open_blockers > 0 and blockers_of(job) or nil
end
for _, id in ipairs(ids) do
  local chain = chain_of(load(id))
  local refused = blockers[chain] and refused_cycle(chain, blockers[chain], blockers)
  if refused then
    return refused
  end
end
if op[2] then
  return { 'ok' }
end

for _, id in ipairs(ids) do
  local job = load(id)
  if wanted[job.status] then
    leave_status(job)
    job.status = job.open_blockers > 0 and BLOCKED or PENDING
    job.attempt, job.scheduled_at, job.finished_at, job.token = 0, now, nil, nil
    if job.blockers > 0 then
      add_dependent(job, blockers_of(job))
    end
    enter_status(job, 'retried')
    local first = load(chain_of(job))
    if first.key then
      redis.call('ZADD', key_set(OPEN, first), int(first.seq), first.id)
    end
  end
end
save_reply(ids)
finish()
return show_jobs(ids)
