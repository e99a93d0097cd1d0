-- run_now: make pending jobs due at once, all or none.
-- flags: allow-oom
-- include: operate
-- include: recall
-- op: { job ids, whether it is only asked if they can be }
local ids = op[1]
if recall() then
  return show_jobs(ids)
end
local wrong = wrong_job(ids, { [PENDING] = true })
if wrong then
  return wrong
end
if op[2] then
  return { 'ok' }
end
redis.call('DEL', KEYS[2])
for _, id in ipairs(ids) do
  local job = load(id)
  leave(job)
  if tonumber(job.scheduled_at) > now then
    job.scheduled_at = now
  end
  enter(job, 'hurried')
end
remember(ids)
finish()
return show_jobs(ids)
