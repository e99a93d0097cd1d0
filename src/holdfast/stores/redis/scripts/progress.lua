-- progress: store how far an attempt has come; answers why the claim is lost if it is.
-- flags: allow-oom
-- include: change
-- op: { job id, token, fraction, note }
local job = load(op[1])
local reason = lost_reason(job, op[2])
if reason then
  return reason
end
if resent and job.progress == op[3] and job.progress_note == op[4] then
  return false
end
redis.call('DEL', KEYS[2])
job.progress, job.progress_note = op[3], op[4]
save(job)
record_event(job, 'progressed')
finish()
return false
