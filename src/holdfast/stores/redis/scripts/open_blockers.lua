-- open_blockers: those of some blockers of a job that have not completed, three values each: chain, type, status.
-- flags: no-writes
-- include: references
-- include: chain
-- op: { job id, how many to skip, most }. The answer begins with 'more' if there are more after these. Part of explain.
local job, from, most = { id = op[1] }, op[2], op[3]
local answer = { redis.call('LLEN', references.blockers_key(job)) > from + most and 'more' or '' }
for _, chain in ipairs(references.blockers_of(job, from, from + most - 1)) do
  local last = last_of(chain)
  if last and last.status ~= COMPLETED then
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3] = chain, load(chain).type, last.status
  end
end
return answer
