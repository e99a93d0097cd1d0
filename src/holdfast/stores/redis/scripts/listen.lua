-- listen: record events for a while; answers the number of the newest event.
-- flags: allow-oom
-- include: listeners
-- op: { listener, lease }
redis.call('DEL', KEYS[2])
redis.call('HSET', listeners_key, op[1], int(plus(now, op[2])))
update_listening()
-- Delete events that no listener has read for an hour.
redis.call('EXPIRE', prefix .. 'events', 3600)
return redis.call('HGET', root, 'events') or '0'
