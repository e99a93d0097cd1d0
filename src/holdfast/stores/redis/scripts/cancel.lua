-- cancel: cancel the current job of each chain; all of them, or none where one does not exist.
-- flags: allow-oom
-- include: change
-- include: ending
-- include: chain
-- include: recall
-- op: { chains, reason, whether to spare running jobs, how }: 'ask' only asks if they exist; 'later' leaves it to
-- `release` to tell those who wait for them, since they may be among those that are cancelled next.
local reason, spare_running = payload(op[2]), op[3]
local before = recall()
for _, chain in ipairs(op[1]) do
  if not is_chain(chain) then
    return { 'ChainNotFound', chain }
  end
end
if op[4] == 'ask' then
  return { 'ok' }
end

local function show_chains(more)
  local answer = { 'ok', more }
  for _, chain in ipairs(op[1]) do
    show_chain(answer, chain)
  end
  return answer
end

-- Whoever retried it since has the last word: it is not cancelled again.
if before then
  return show_chains(redis.call('EXISTS', releasing_key) == 1 and 'more' or '')
end

redis.call('DEL', KEYS[2])
local cancelled = {}
for _, chain in ipairs(op[1]) do
  local job = last_of(chain)
  if not FINISHED[job.status] and not (spare_running and job.status == RUNNING) then
    if job.status == RUNNING then
      end_attempt(job, 'cancelled', reason)
      lost_claims[job.id] = true
    end
    leave(job)
    let_go(job)
    job.status, job.finished_at = CANCELLED, now
    if not reason then
      redis.call('HDEL', job_key(job.id), 'e')
    end
    enter(job, 'cancelled', 'e', reason)
    cancelled[#cancelled + 1] = chain
  end
end
-- Only now, so that chains named together are all cancelled and none fails with another.
for _, chain in ipairs(cancelled) do
  chain_ended(chain, BROKEN_CHAIN)
end
local more = release(op[4] == 'later')
finish()
if #cancelled > 0 then
  remember({ 'ok' })
end
return show_chains(more)
