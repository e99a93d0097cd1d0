-- include: arguments
-- listeners: the listeners of live events. The root stores the time until which one exists, for all other scripts.
local listeners_key = prefix .. 'listeners'

local function update_listening()
  local latest = 0
  local listeners = redis.call('HGETALL', listeners_key)
  for n = 1, #listeners, 2 do
    local until_ = tonumber(listeners[n + 1])
    if until_ <= now then
      redis.call('HDEL', listeners_key, listeners[n])
    end
    latest = math.max(latest, until_)
  end
  redis.call('HSET', root, 'listening', int(latest))
end
