-- run_now: make pending jobs due now, all or none.
-- flags: allow-oom
-- include: operator_checks
-- include: saved_reply
-- op: { job ids, whether to check only }
local ids = op[1]
if saved_reply() then
  return show_jobs(ids)
end
local wrong = refused_job(ids, { [PENDING] = true })
if wrong then
  return wrong
end
if op[2] then
  return { 'ok' }
end
redis.call('DEL', KEYS[2])
for _, id in ipairs(ids) do
  local job = load(id)
  leave_status(job)
  if tonumber(job.scheduled_at) > now then
    job.scheduled_at = now
  end
  enter_status(job, 'hurried')
end
save_reply(ids)
finish()
return show_jobs(ids)
