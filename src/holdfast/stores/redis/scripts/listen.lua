-- listen: have transitions recorded for a while; answers the newest event's seq.
-- flags: allow-oom
-- include: listeners
-- op: { listener, lease }
redis.call('DEL', KEYS[2])
redis.call('HSET', listeners_key, op[1], int(plus(now, op[2])))
note_listening()
-- What nobody reads for an hour is nobody's.
redis.call('EXPIRE', prefix .. 'events', 3600)
return redis.call('HGET', root, 'events') or '0'
