-- include: arguments
-- single_start: the most common start: one new chain that is due now, without key or blocker. It ends the script here:
-- creating the functions that other starts need would take longer than all of this.
-- It writes the same as `add` and `finish`.
local only = op[1]
if #op == 1 and #only == 3 and not resent then
  local counters = redis.call('HMGET', root, 'seq', 'listening')
  local seq, id, type = tonumber(counters[1] or 0) + 1, only[1], only[2]
  -- An id that exists, and a store with listeners of live events, are handled by the rest of the script.
  if tonumber(counters[2] or 0) <= now and redis.call('ZADD', prefix .. 'all', 'NX', seq, id) == 1 then
    local state = cmsgpack.pack(seq, now, nil, 'p', 0) .. payload(only[3])
    redis.call('HSET', KEYS[3], 's', state, 'i', payload(only[3] + 1))
    redis.call('ZADD', prefix .. 'q:0:' .. type, now, struct.pack('>I8', seq) .. id)
    redis.call('HSET', root, 'seq', seq, 'l:0:' .. type, '')
    redis.call('HINCRBY', prefix .. 'started', math.floor(now / 60000000) .. ':' .. type, 1)
    redis.pcall(publish, prefix .. 'wake', cmsgpack.pack({ due = { type } }))
    return { 'ok', '', now, seq }
  end
end
