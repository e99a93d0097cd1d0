-- layout: the layout that a namespace is written in; one that has none yet takes the caller's. A step of opening a store.
-- flags: allow-oom
-- include: frame
-- op: the caller's layout
local layout = redis.call('HGET', root, 'layout')
if layout then
  return layout
end
redis.call('DEL', KEYS[2])
redis.call('HSET', root, 'layout', op)
return op
