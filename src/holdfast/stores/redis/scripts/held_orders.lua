-- held_orders: the lanes of orders that these failed jobs hold. Part of doctor.
-- flags: no-writes
-- include: change
-- op: job ids. The answer: pairs of lane and job id.
local answer = {}
for _, id in ipairs(op) do
  local job = load(id)
  if job and has_lanes(job) then
    need_lanes()
    local seen = {}
    for _, rule in ipairs(lanes.order_rules(job)) do
      local held = redis.call('ZSCORE', lanes.key('places', rule.lane), (lanes.place_of(job, rule)))
      if held and not seen[rule.lane] then
        seen[rule.lane] = true
        answer[#answer + 1], answer[#answer + 2] = rule.lane, id
      end
    end
  end
end
return answer
