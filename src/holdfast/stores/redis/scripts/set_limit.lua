-- set_limit: set or reset the number of a limit, or of one lane of it.
-- include: hints
-- include: audit
-- lazy: lanes
-- op: { name, number or nil, lane or nil, action, { user, reason } or nil }. The answer: the kind, or false if there is no
-- such limit. Nothing is written for an order and a number above 0.
need_lanes()
local name, number, lane = op[1], op[2], op[3]
local limit = lanes.read_limit(name)
if not limit then
  return false
elseif limit.kind == 'order' and number and number > 0 then
  return limit.kind
end
local before = limit.override
if lane then
  local own = redis.call('HGET', prefix .. 'overrides', lane)
  before = own and tonumber(own) or nil
end
if before == number then
  return limit.kind
elseif not lane then
  limit.override = number
  lanes.write_limit(name, limit)
elseif number then
  redis.call('HSET', prefix .. 'overrides', lane, int(number))
else
  redis.call('HDEL', prefix .. 'overrides', lane)
end
write_audit(op[5], op[4], name)
return limit.kind
