-- delete: delete chains whole, running ones too, with `cascade` their blockers as well; all or nothing.
-- flags: allow-oom
-- include: remove
-- include: recall
-- op: { chains, cascade }
local before = recall()
if before then
  return before
end

local doomed, marked = {}, {}
local function doom(chain)
  if not marked[chain] and is_chain(chain) then
    marked[chain] = true
    doomed[#doomed + 1] = chain
  end
end
for _, chain in ipairs(op[1]) do
  doom(chain)
end
local n = 1
while op[2] and n <= #doomed do
  for _, id in ipairs(job_ids(doomed[n])) do
    for _, blocker in ipairs(redis.call('LRANGE', prefix .. 'a:' .. id, 0, -1)) do
      doom(blocker)
    end
  end
  n = n + 1
end

local stranded = { 'StillReferenced' }
for _, chain in ipairs(doomed) do
  for _, id in ipairs(waiting(chain, marked)) do
    stranded[#stranded + 1] = chain
    stranded[#stranded + 1] = id
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
