-- get_lanes: the state of these lanes, and the jobs that hold them.
-- flags: no-writes
-- include: hints
-- lazy: lanes
-- op: { lanes, how many running jobs to name }. Eight values per lane, a list of jobs, and { track, priority, time }
-- of the job that reserves a rate, or an empty list.
need_lanes()
local answer = {}
for _, lane in ipairs(op[1]) do
  if lanes.read_limit(lanes.name(lane)) then
    local state = lanes.state(lane)
    local front = state.kind == 'order' and lanes.front_of(lane) or false
    for _, value in ipairs({
      lane, state.kind, int(state.number), int(state.per), int(state.burst), int(state.tat), int(lanes.running_in(lane)), front,
    }) do
      answer[#answer + 1] = value
    end
    answer[#answer + 1] = lanes.holder_ids(lane, op[2])
    local by = state.reserved_by
    answer[#answer + 1] = by and { by, int(state.reserved_priority), int(state.reserved_at) } or {}
  end
end
return answer
