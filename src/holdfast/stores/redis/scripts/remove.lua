-- remove: delete those of these chains that have no unfinished dependents outside. Part of a long delete.
-- flags: allow-oom
-- include: remove
-- include: saved_reply
-- include: audit
-- op: { chains, { user, reason } or nil }
local chains = op[1]
local before = saved_reply()
if before then
  return before
end
-- Per chain, the chains of its dependents. With more dependents than named chains, one of them is outside.
local waiting, removable = {}, {}
for _, chain in ipairs(chains) do
  removable[chain], waiting[chain] = is_chain(chain) and not releasing(chain), {}
  for n, member in ipairs(redis.call('ZRANGE', references.dependents_key(chain), 0, #chains)) do
    waiting[chain][n] = chain_of(references.read_member(member))
  end
  if #waiting[chain] > #chains then
    removable[chain] = false
  end
end

-- A chain that stays keeps its blockers. Usually later chains wait for earlier ones, so that one pass is enough.
local changed
repeat
  changed = false
  for n = #chains, 1, -1 do
    for _, dependent in ipairs(removable[chains[n]] and waiting[chains[n]] or {}) do
      if not removable[dependent] then
        removable[chains[n]], changed = false, true
      end
    end
  end
until not changed

redis.call('DEL', KEYS[2])
local removed = {}
for _, chain in ipairs(chains) do
  if removable[chain] then
    remove_chain(chain)
    write_audit(op[2], 'delete', chain, chain)
    removed[#removed + 1] = chain
  end
end
finish()
return #removed > 0 and save_reply(removed) or removed
