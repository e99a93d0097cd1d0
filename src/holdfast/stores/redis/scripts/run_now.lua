-- run_now: make pending jobs due now, all or none.
-- flags: allow-oom
-- include: operator_checks
-- include: steps
-- include: audit
-- op: { job ids, whether to check only, { user, reason } or nil }
local ids = op[1]
local answer = unchanged(ids, { [PENDING] = true }, op[2])
if answer then
  return answer
end
redis.call('DEL', KEYS[2])
local done = {}
for _, id in ipairs(ids) do
  local job = load(id)
  -- A message ends the wait of a job that has no open sleep.
  if not done[id] and (steps.end_sleeps(job) or #steps.awaited(job) == 0) then
    done[id] = true
    leave_status(job)
    if tonumber(job.scheduled_at) > now then
      job.scheduled_at = now
      write_audit(op[3], 'run_now', id, chain_of(job))
    end
    enter_status(job, 'made_due')
  end
end
save_reply(ids)
finish()
return show_jobs(ids)
