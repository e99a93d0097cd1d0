-- include: request
-- single_start: the most common start: one new chain that is due now, without key or blocker. It ends the script here:
-- creating the functions that other starts need would take longer than all of this.
-- It writes the same as `add` and `finish`. op is then only the type. The payloads are the rest of the state, the input,
-- and the wake-up. Numbers are formatted here, with %d: the server would do it with %.17g.
if type(op) == 'string' then
  local id = string.sub(KEYS[3], #prefix + 3)
  if not resent then
    local counters = redis.call('HMGET', root, 'seq', 'listening')
    local number, moment = tonumber(counters[1] or 0) + 1, string.format('%d', now)
    local seq = string.format('%d', number)
    -- An id that exists, and a store with listeners of live events, are handled by the rest of the script.
    if tonumber(counters[2] or 0) <= now and redis.call('ZADD', prefix .. 'all', 'NX', seq, id) == 1 then
      redis.call('HSET', KEYS[3], 's', cmsgpack.pack(number, now, nil, 'p', 0) .. ARGV[6], 'i', ARGV[7])
      redis.call('ZADD', prefix .. 'q:0:' .. op, moment, struct.pack('>I8', number) .. id)
      redis.call('HSET', root, 'seq', seq, 'l:0:' .. op, '')
      redis.call('HINCRBY', prefix .. 'started', string.format('%d:', math.floor(now / 60000000)) .. op, '1')
      redis.pcall(publish, prefix .. 'wake', ARGV[8])
      return moment .. ' ' .. seq
    end
  end
  op = { { id, op, 1 } }
end
