-- pause: hand out no jobs of these types until they are resumed.
-- flags: allow-oom
-- include: lines
-- include: recall
-- op: types
if recall() then
  return 'ok'
end
redis.call('DEL', KEYS[2])
for _, type in ipairs(op) do
  redis.call('HSET', root, PAUSED .. type, '')
end
remember({ 'ok' })
return 'ok'
