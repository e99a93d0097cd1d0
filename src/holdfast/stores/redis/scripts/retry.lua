-- retry: make failed or cancelled jobs pending again (blocked where blockers are open), attempts granted anew.
-- include: operate
-- include: change
-- include: ending
-- include: release
-- include: cycle
-- include: recall
-- op: { job ids, whether it is only asked if they can be }
local ids = op[1]
local wanted = { [FAILED] = true, [CANCELLED] = true }
if recall() then
  return show_jobs(ids)
end
local wrong = wrong_job(ids, wanted)
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

-- A key has one live chain at a time, also when an old one begins anew.
local live = {}
for _, id in ipairs(ids) do
  local job = load(id)
  local first = load(chain_of(job))
  if first.key then
    local name = keyed(OPEN, first)
    live[name] = live[name] or redis.call('ZRANGE', name, -1, -1)[1] or first.id
    if live[name] ~= first.id then
      return { 'KeyTaken', id, job.status, live[name] }
    end
  end
end

-- A job that would wait for a chain which waits for its own can never begin.
local again = {}
for _, id in ipairs(ids) do
  local job = load(id)
  again[chain_of(job)] = job.open_blockers > 0 and blockers_of(job) or nil
end
for _, id in ipairs(ids) do
  local chain = chain_of(load(id))
  local refused = again[chain] and refused_cycle(chain, again[chain], again)
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
    leave(job)
    job.status = job.open_blockers > 0 and BLOCKED or PENDING
    job.attempt, job.scheduled_at, job.finished_at, job.token = 0, now, nil, nil
    if job.blockers > 0 then
      wait_for(job, blockers_of(job))
    end
    enter(job, 'retried')
    local first = load(chain_of(job))
    if first.key then
      redis.call('ZADD', keyed(OPEN, first), int(first.seq), first.id)
    end
  end
end
remember(ids)
finish()
return show_jobs(ids)
