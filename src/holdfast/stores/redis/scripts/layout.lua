-- layout: the layout of the namespace; a new namespace gets the caller's. Part of opening a store.
-- flags: allow-oom
-- include: arguments
-- op: the caller's layout
local layout = redis.call('HGET', root, 'layout')
if layout then
  return layout
end
redis.call('DEL', KEYS[2])
redis.call('HSET', root, 'layout', op)
return op
