-- blockers: the number of jobs and the blockers of each chain that exists. Part of a long delete.
-- flags: no-writes
-- include: remove
-- op: chains. The answer has a row per chain, up to the chain with the hundredth job.
local answer, jobs = {}, 0
for _, chain in ipairs(op) do
  local row = { '0' }
  if is_chain(chain) then
    local size = length(chain)
    jobs = jobs + size
    if jobs > MAX_REMOVED and #answer > 0 then
      break
    end
    row[1] = int(size)
    for _, id in ipairs(job_ids(chain)) do
      for _, blocker in ipairs(load(id).blockers > 0 and references.blockers_of(load(id)) or {}) do
        row[#row + 1] = blocker
      end
    end
  end
  answer[#answer + 1] = row
end
return answer
