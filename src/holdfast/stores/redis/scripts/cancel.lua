-- cancel: cancel the current job of each chain; none of them if one does not exist.
-- flags: allow-oom
-- include: change
-- include: release_ended
-- include: chain
-- include: saved_reply
-- include: audit
-- op: { chains, reason, whether to spare running jobs, how, { user, reason } or nil }. 'ask' only checks that they exist. 'later' leaves the
-- dependents to `release`, because the next call may cancel them too.
local reason, spare_running = payload(op[2]), op[3]
local before = saved_reply()
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

-- A resend does not cancel again: the job may have been retried since.
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
    leave_status(job)
    clear_claim(job)
    job.status, job.finished_at = CANCELLED, now
    if not reason then
      redis.call('HDEL', job_key(job.id), 'e')
    end
    enter_status(job, 'cancelled', 'e', reason)
    counters.job('cancelled', job)
    cancelled[#cancelled + 1] = chain
    write_audit(op[5], 'cancel', chain, chain)
  end
end
-- After all are cancelled, so that none of these chains fails because of another.
for _, chain in ipairs(cancelled) do
  chain_ended(chain, BROKEN_CHAIN)
end
local more = release_dependents(op[4] == 'later')
finish()
if #cancelled > 0 then
  save_reply({ 'ok' })
end
return show_chains(more)
