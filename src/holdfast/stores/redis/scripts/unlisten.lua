-- unlisten: stop listening; when nobody does, nothing more is recorded.
-- flags: allow-oom
-- include: listeners
-- op: the listener
redis.call('DEL', KEYS[2])
redis.call('HDEL', listeners_key, op)
note_listening()
return 'ok'
