-- release: tell up to a hundred more of the jobs that wait for a chain that ended; answers 'more' or '', then whom.
-- flags: allow-oom
-- include: change
-- include: ending
redis.call('DEL', KEYS[2])
local unblocked = { '' }
local field = redis.call('HRANDFIELD', releasing_key)
if field then
  local told, last = string.match(redis.call('HGET', releasing_key, field), '^(%d+) (%d+)$')
  ended[1] = {
    chain = string.sub(field, 2), how = string.sub(field, 1, 1), told = tonumber(told), last = tonumber(last),
    count = 0, unblocked = unblocked,
  }
  -- Whether or not anybody still waits, the entry has to go in the end.
  if not anyone_waits() then
    redis.call('HDEL', releasing_key, field)
  end
  unblocked[1] = release()
  if unblocked[1] == '' and redis.call('EXISTS', releasing_key) == 1 then
    unblocked[1] = 'more'
  end
end
finish()
return unblocked
