-- send: store a message for a chain unless its name has a value, and make the job due that waits for it.
-- include: change
-- include: chain
-- include: steps
-- include: saved_reply
-- include: audit
-- op: { chain, name, value, author }. The answer: 'first' or 'late'.
local chain, name = op[1], op[2]
local before = saved_reply()
if before then
  return before
end
if not is_chain(chain) then
  return { 'ChainNotFound', chain }
end
if FINISHED[last_of(chain).status] then
  return { 'AlreadyCompleted', chain }
end
local messages = steps.messages(chain)
if redis.call('HSETNX', messages, 'v' .. name, payload(op[3])) == 0 then
  return { 'ok', 'late' }
end
write_audit(op[4], 'send', chain, chain)
local wait = redis.call('HGET', messages, 'w' .. name)
if wait then
  redis.call('HDEL', messages, 'w' .. name)
  local job = steps.waiting(wait)
  if job then
    leave_status(job)
    job.scheduled_at = tonumber(job.scheduled_at) > now and now or job.scheduled_at
    enter_status(job, 'made_due')
  end
end
finish()
return save_reply({ 'ok', 'first' })
