-- pause: do not claim jobs of these types until they are resumed.
-- flags: allow-oom
-- include: pending_sets
-- include: saved_reply
-- include: audit
-- op: { types, { user, reason } or nil }
if saved_reply() then
  return 'ok'
end
redis.call('DEL', KEYS[2])
for _, type in ipairs(op[1]) do
  if redis.call('HSET', root, PAUSED .. type, '') == 1 then
    write_audit(op[2], 'pause', type)
  end
end
save_reply({ 'ok' })
return 'ok'
