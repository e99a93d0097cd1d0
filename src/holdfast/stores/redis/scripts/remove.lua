-- remove: delete those of these chains that no unfinished job outside them waits for. A step of a long delete.
-- flags: allow-oom
-- include: remove
-- include: recall
-- op: chains
local before = recall()
if before then
  return before
end
local named = {}
for _, chain in ipairs(op) do
  named[chain] = true
end

-- in_use: whether an unfinished job of another chain waits for this one. More of them than are named cannot all be.
local function in_use(chain)
  for _, member in ipairs(redis.call('ZRANGE', dependents_key(chain), 0, #op)) do
    if not named[chain_of(read_member(member))] then
      return true
    end
  end
  return redis.call('ZCARD', dependents_key(chain)) > #op
end

redis.call('DEL', KEYS[2])
local gone = {}
for _, chain in ipairs(op) do
  if is_chain(chain) and not in_use(chain) then
    remove_chain(chain)
    gone[#gone + 1] = chain
  end
end
finish()
return #gone > 0 and remember(gone) or gone
