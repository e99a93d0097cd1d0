-- change_schedule: create, change or delete a schedule and start chains, if its version is the expected one.
-- include: start_chains
-- include: schedule
-- include: audit
-- op: { name, expected version or false, new version, type, body or nil, next tick or nil, new jobs, whether to announce,
-- action, { user, reason } or nil }
local name, expected, version, type = op[1], op[2], op[3], op[4]
local body, ticks_at = payload(op[5]), op[6]
local row = redis.call('HMGET', schedule_key(name), 'v', 't')
if row[1] ~= expected and row[1] ~= version then
  return { 'changed' }
end
local jobs = read_all_new(op[7])
local found, results, refused = find_chains(jobs)
if refused then
  return refused
end

-- An earlier request with this version wrote the schedule and started its chains.
if row[1] == expected then
  if row[2] then
    redis.call('ZREM', ticks_key(row[2]), name)
  end
  if body then
    redis.call('HSET', schedule_key(name), 'v', version, 't', type, 'b', body)
    redis.call('ZADD', schedule_names, 0, name)
    if ticks_at then
      redis.call('ZADD', ticks_key(type), int(ticks_at), name)
    end
  else
    redis.call('DEL', schedule_key(name))
    redis.call('ZREM', schedule_names, name)
  end
  if op[8] then
    due[op[8]] = true
  end
  write_audit(op[10], op[9], name)
end

return start_chains(jobs, found, results)
