-- resume: claim jobs of these types again.
-- flags: allow-oom
-- include: hints
-- include: pending_sets
-- include: saved_reply
-- include: audit
-- op: { types, { user, reason } or nil }
if saved_reply() then
  return 'ok'
end
for _, type in ipairs(op[1]) do
  if redis.call('HDEL', root, PAUSED .. type) == 1 then
    write_audit(op[2], 'resume', type)
  end
  due[type] = true
end
save_reply({ 'ok' })
finish()
return 'ok'
