-- pause: hand out no jobs of these types until they are resumed.
-- include: frame
-- op: types
redis.call('SADD', prefix .. 'paused', unpack(op))
return 'ok'
