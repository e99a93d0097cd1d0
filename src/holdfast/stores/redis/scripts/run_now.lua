-- run_now: make pending jobs due at once, all or none.
-- include: operate
-- include: recall
-- op: job ids
if recall() then
  return show_jobs(op)
end
local wrong = wrong_job(op, { [PENDING] = true })
if wrong then
  return wrong
end
for _, id in ipairs(op) do
  local job = load(id)
  leave(job)
  if tonumber(job.scheduled_at) > now then
    job.scheduled_at = now
  end
  enter(job, 'hurried')
end
remember(op)
finish()
return show_jobs(op)
