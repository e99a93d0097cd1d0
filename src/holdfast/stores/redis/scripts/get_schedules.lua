-- get_schedules: the schedules with these names, or all.
-- flags: no-writes
-- include: schedule
-- op: names, or false for all
local answer = { int(now) }
for _, name in ipairs(op or redis.call('ZRANGE', schedule_names, 0, -1)) do
  show_schedule(answer, name)
end
return answer
