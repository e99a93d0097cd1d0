-- remove: delete those of these chains that no unfinished job waits for once they are gone. A step of a long delete.
-- flags: allow-oom
-- include: remove
-- include: recall
-- op: chains
local before = recall()
if before then
  return before
end
-- Of each chain, the chains whose unfinished jobs wait for it. Where there are more than are named, one is another's.
local waiting, going = {}, {}
for _, chain in ipairs(op) do
  going[chain], waiting[chain] = is_chain(chain) and not releasing(chain), {}
  for n, member in ipairs(redis.call('ZRANGE', dependents_key(chain), 0, #op)) do
    waiting[chain][n] = chain_of(read_member(member))
  end
  if #waiting[chain] > #op then
    going[chain] = false
  end
end

-- A chain that stays keeps those that it waits for. Mostly the later named wait for the earlier: then one look is enough.
local changed
repeat
  changed = false
  for n = #op, 1, -1 do
    for _, dependent in ipairs(going[op[n]] and waiting[op[n]] or {}) do
      if not going[dependent] then
        going[op[n]], changed = false, true
      end
    end
  end
until not changed

redis.call('DEL', KEYS[2])
local gone = {}
for _, chain in ipairs(op) do
  if going[chain] then
    remove_chain(chain)
    gone[#gone + 1] = chain
  end
end
finish()
return #gone > 0 and remember(gone) or gone
