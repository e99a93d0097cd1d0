-- by_key: the newest chains of a type and key, each with its number.
-- flags: no-writes
-- include: index
-- op: { type, key, before or nil, most }
local below = op[3] and '(' .. int(op[3]) or '+inf'
local chains = key_set('all', { type = op[1], key = op[2] })
return redis.call('ZREVRANGEBYSCORE', chains, below, '-inf', 'WITHSCORES', 'LIMIT', 0, op[4])
