-- include: frame
-- single: one ordinary start: a new chain that is due at once, with neither key nor blocker. It ends the script here:
-- to make the functions that any other start may need takes longer than all of this.
-- Writes what `add` and `finish` would.
local only = op[1]
if #op == 1 and #only == 3 and not resent then
  local noted = redis.call('HMGET', root, 'seq', 'listening')
  local seq, id, type = tonumber(noted[1] or 0) + 1, only[1], only[2]
  -- An id that is taken, and a store that somebody follows live, are for the rest of the script.
  if tonumber(noted[2] or 0) <= now and redis.call('ZADD', prefix .. 'all', 'NX', seq, id) == 1 then
    local state = cmsgpack.pack(seq, now, nil, 'p', 0) .. payload(only[3])
    redis.call('HSET', KEYS[3], 's', state, 'i', payload(only[3] + 1))
    redis.call('ZADD', prefix .. 'q:0:' .. type, now, struct.pack('>I8', seq) .. id)
    redis.call('HSET', root, 'seq', seq, 'l:0:' .. type, '')
    redis.pcall(publish, prefix .. 'wake', cmsgpack.pack({ due = { type } }))
    return { 'ok', '', now, seq }
  end
end
