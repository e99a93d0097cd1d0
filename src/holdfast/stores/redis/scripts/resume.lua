-- resume: claim jobs of these types again.
-- flags: allow-oom
-- include: hints
-- include: pending_sets
-- include: saved_reply
-- op: types
if saved_reply() then
  return 'ok'
end
for _, type in ipairs(op) do
  redis.call('HDEL', root, PAUSED .. type)
  due[type] = true
end
save_reply({ 'ok' })
finish()
return 'ok'
