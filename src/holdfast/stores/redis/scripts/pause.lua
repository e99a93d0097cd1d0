-- pause: do not claim jobs of these types until they are resumed.
-- flags: allow-oom
-- include: pending_sets
-- include: saved_reply
-- op: types
if saved_reply() then
  return 'ok'
end
redis.call('DEL', KEYS[2])
for _, type in ipairs(op) do
  redis.call('HSET', root, PAUSED .. type, '')
end
save_reply({ 'ok' })
return 'ok'
