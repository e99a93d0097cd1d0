-- resume: hand out jobs of these types again.
-- flags: allow-oom
-- include: hints
-- include: lines
-- op: types
for _, type in ipairs(op) do
  redis.call('HDEL', root, PAUSED .. type)
  due[type] = true
end
finish()
return 'ok'
