-- pause: hand out no jobs of these types until they are resumed.
-- include: lines
-- op: types
for _, type in ipairs(op) do
  redis.call('HSET', root, PAUSED .. type, '')
end
return 'ok'
