-- delete: delete chains whole, running ones too, with `cascade` their blockers as well; all or nothing.
-- flags: allow-oom
-- include: remove
-- include: recall
-- op: { chains, cascade, most }: where more jobs or more dependents than `most` are concerned, or one of the chains has
-- still to tell of its end, the answer is `many`, and nothing is done: the caller then looks and deletes in steps.
local before = recall()
if before then
  return before
end

local most = op[3]
local doomed, marked, jobs, held_up = {}, {}, 0, false
local function doom(chain)
  if not marked[chain] and is_chain(chain) then
    marked[chain] = true
    jobs = jobs + length(chain)
    held_up = held_up or releasing(chain)
    doomed[#doomed + 1] = chain
  end
end
for _, chain in ipairs(op[1]) do
  doom(chain)
end
local n = 1
while op[2] and n <= #doomed and jobs <= most do
  for _, id in ipairs(job_ids(doomed[n])) do
    for _, blocker in ipairs(load(id).blockers > 0 and blockers_of(load(id)) or {}) do
      doom(blocker)
    end
  end
  n = n + 1
end

if jobs > most or held_up then
  return { 'many' }
end

local dependents = 0
local stranded = { 'StillReferenced' }
for _, chain in ipairs(doomed) do
  for _, member in ipairs(redis.call('ZRANGE', dependents_key(chain), 0, most)) do
    local job = read_member(member)
    dependents = dependents + 1
    if not marked[chain_of(job)] then
      stranded[#stranded + 1] = chain
      stranded[#stranded + 1] = job.id
    end
  end
  if dependents > most then
    return { 'many' }
  end
end
if #stranded > 1 then
  return stranded
end

redis.call('DEL', KEYS[2])
for _, chain in ipairs(doomed) do
  remove_chain(chain)
end
finish()
table.insert(doomed, 1, 'ok')
return #doomed > 1 and remember(doomed) or doomed
