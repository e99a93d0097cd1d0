-- get_errors: the error groups, their numbers per minute, and the changes that were not added up yet.
-- flags: no-writes
-- include: counted_minutes
-- The answer: the time, the first minute, the groups, the changes, then each minute and its numbers.
local answer = {
  int(now), int(first_minute), redis.call('HGETALL', prefix .. 'eg'), redis.call('LRANGE', prefix .. 'n', 0, -1),
}
return add_minutes(answer, 'ec:')
