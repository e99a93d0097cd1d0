-- save_logs: add the logs of running attempts to the histories of their jobs, if their claims are valid.
-- flags: allow-oom
-- include: change
-- include: saved_reply
-- op: { outcome of such an entry, a list of { job id, token, number of its payload } }
redis.call('DEL', KEYS[2])
if saved_reply() then
  return false
end
for _, given in ipairs(op[2]) do
  local job = load(given[1])
  if not lost_reason(job, given[2]) then
    end_attempt(job, op[1], payload(given[3]))
  end
end
save_reply({ 'ok' })
return false
