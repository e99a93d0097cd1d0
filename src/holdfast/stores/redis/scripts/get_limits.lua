-- get_limits: one page of the limits, of the tracks, or of the lanes with running jobs.
-- flags: no-writes
-- include: arguments
-- op: { 'limits' }, { 'tracks', cursor } or { 'held', cursor, how many running jobs to name }
local what = op[1]
if what == 'limits' then
  return { redis.call('HGETALL', prefix .. 'limits'), redis.call('HGETALL', prefix .. 'overrides') }
end
local found = redis.call('HSCAN', prefix .. what, op[2], 'COUNT', 100)
local answer = { found[1] }
for n = 1, #found[2], 2 do
  local name, value = found[2][n], found[2][n + 1]
  if name ~= '' and what == 'tracks' then
    answer[#answer + 1] = value
    answer[#answer + 1] = redis.call('ZCARD', prefix .. 'wait:' .. name)
  elseif name ~= '' then
    local members, ids = { value }, {}
    if value == '' then
      members = redis.call('ZRANGE', prefix .. 'held:' .. name, 0, op[3] - 1)
    end
    for place, member in ipairs(members) do
      ids[place] = string.sub(member, 9)
    end
    answer[#answer + 1] = name
    answer[#answer + 1] = value == '' and redis.call('ZCARD', prefix .. 'held:' .. name) or 1
    answer[#answer + 1] = ids
  end
end
return answer
