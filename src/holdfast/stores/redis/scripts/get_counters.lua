-- get_counters: the sums per type and minute, the totals, and the changes that were not added up yet.
-- flags: no-writes
-- include: counted_minutes
-- The answer: the time, the first minute, the started jobs, the changes, the totals, then each minute and its sums.
local answer = {
  int(now), int(first_minute), redis.call('HGETALL', prefix .. 'started'), redis.call('LRANGE', prefix .. 'n', 0, -1),
  redis.call('HGETALL', prefix .. 'n:0'),
}
return add_minutes(answer, 'n:')
