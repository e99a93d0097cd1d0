-- resume: hand out jobs of these types again.
-- flags: allow-oom
-- include: hints
-- include: lines
-- include: recall
-- op: types
if recall() then
  return 'ok'
end
for _, type in ipairs(op) do
  redis.call('HDEL', root, PAUSED .. type)
  due[type] = true
end
remember({ 'ok' })
finish()
return 'ok'
