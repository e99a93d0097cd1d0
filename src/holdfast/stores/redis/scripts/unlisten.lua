-- unlisten: stop listening; without listeners no events are recorded.
-- flags: allow-oom
-- include: listeners
-- op: the listener
redis.call('DEL', KEYS[2])
redis.call('HDEL', listeners_key, op)
update_listening()
return 'ok'
