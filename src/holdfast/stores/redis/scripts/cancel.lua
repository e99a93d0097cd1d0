-- cancel: cancel the current job of each chain; all of them, or none where one does not exist.
-- flags: allow-oom
-- include: chain
-- op: { chains, reason }
local reason = payload(op[2])
for _, chain in ipairs(op[1]) do
  if not is_chain(chain) then
    return { 'ChainNotFound', chain }
  end
end

redis.call('DEL', KEYS[2])
for _, chain in ipairs(op[1]) do
  local job = last_of(chain)
  if not FINISHED[job.status] then
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
    enter(job, 'cancelled', reason and { 'e', reason })
    chain_broken(chain)
  end
end
finish()
local answer = { 'ok' }
for _, chain in ipairs(op[1]) do
  show_chain(answer, chain)
end
return answer
