-- release: update up to a hundred dependents of an ended chain; answers 'more' or '', then the unblocked jobs.
-- flags: allow-oom
-- include: change
-- include: release_ended
redis.call('DEL', KEYS[2])
local unblocked = { '' }
local field = redis.call('HRANDFIELD', releasing_key)
if field then
  local position, last = string.match(redis.call('HGET', releasing_key, field), '^(%d+) (%d+)$')
  ended[1] = {
    chain = string.sub(field, 2), how = string.sub(field, 1, 1), position = tonumber(position), last = tonumber(last),
    unblocked = unblocked,
  }
  -- Also delete the entry of a chain without dependents.
  if not any_dependents() then
    redis.call('HDEL', releasing_key, field)
  end
  unblocked[1] = release_dependents()
  if unblocked[1] == '' and redis.call('EXISTS', releasing_key) == 1 then
    unblocked[1] = 'more'
  end
end
finish()
return unblocked
