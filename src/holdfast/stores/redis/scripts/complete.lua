-- complete: complete the chain's current job from outside, and further jobs that follow it, in any unfinished status.
-- flags: allow-oom
-- include: change
-- include: create
-- include: continuation
-- include: chain
-- include: saved_reply
-- include: audit
-- op: { chain, job id, completions as { output, continuation }, starts, expected, { user, reason } or nil }
local chain = op[1]
local before = saved_reply()
if before then
  return before
end
if not is_chain(chain) then
  return { 'ChainNotFound', chain }
end
local job = last_of(chain)
if job.id ~= op[2] or FINISHED[job.status] then
  return { 'AlreadyCompleted', chain }
end
local starts = read_all_new(op[4])
local refused = refused_starts(starts, op[5])
for _, completion in ipairs(op[3]) do
  refused = refused or completion[2] and refused_continuation(read_new(completion[2]), starts, op[5])
end
if refused then
  return refused
end

redis.call('DEL', KEYS[2])
write_audit(op[6], 'complete', job.id, chain)
if #starts > 0 then
  start_all(starts, (preview(starts)))
end
if #op[3] > 0 and job.status == RUNNING then
  end_attempt(job, 'lost')
  lost_claims[job.id] = true
end
local answer = { 'ok', '' }
for n, completion in ipairs(op[3]) do
  local output, continuation = payload(completion[1]), completion[2]
  leave_status(job)
  if continuation then
    add(read_new(continuation))
  end
  clear_claim(job)
  job.status, job.finished_at = COMPLETED, now
  redis.call('HDEL', job_key(job.id), 'e')
  enter_status(job, 'completed', 'o', output, continuation ~= nil)
  counters.job('completed', job)
  job = last_of(chain)
  if n == #op[3] and not continuation then
    chain_ended(chain, COMPLETED_CHAIN, answer)
  end
end
answer[2] = release_dependents()
finish()
return save_reply(answer)
