-- get_limits: one page of the limits, of the tracks, or of the lanes with running jobs.
-- flags: no-writes
-- include: arguments
-- op: { 'limits' }, { 'tracks', cursor } or { 'held', cursor, how many running jobs to name }
local what = op[1]
if what == 'limits' then
  return { redis.call('HGETALL', prefix .. 'limits'), redis.call('HGETALL', prefix .. 'overrides') }
end
local found = redis.call('SSCAN', prefix .. what, op[2], 'COUNT', 100)
local answer = { found[1] }
for _, name in ipairs(found[2]) do
  if what == 'tracks' then
    answer[#answer + 1] = redis.call('HGET', prefix .. 'track:' .. name, 'lanes')
    answer[#answer + 1] = redis.call('ZCARD', prefix .. 'wait:' .. name)
  else
    answer[#answer + 1] = name
    answer[#answer + 1] = redis.call('ZCARD', prefix .. 'held:' .. name)
    answer[#answer + 1] = redis.call('ZRANGE', prefix .. 'held:' .. name, 0, op[3] - 1)
  end
end
return answer
