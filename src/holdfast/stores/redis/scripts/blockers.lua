-- blockers: of each chain that exists, its id and the chains that its jobs wait or waited for. A step of a long delete.
-- flags: no-writes
-- include: remove
-- op: chains
local answer = {}
for _, chain in ipairs(op) do
  if is_chain(chain) then
    local row = { chain }
    for _, id in ipairs(job_ids(chain)) do
      for _, blocker in ipairs(load(id).blockers > 0 and blockers_of(load(id)) or {}) do
        row[#row + 1] = blocker
      end
    end
    answer[#answer + 1] = row
  end
end
return answer
