-- resume: hand out jobs of these types again.
-- flags: allow-oom
-- include: hints
-- op: types
redis.call('SREM', prefix .. 'paused', unpack(op))
for _, type in ipairs(op) do
  due[type] = true
end
finish()
return 'ok'
