-- prune: delete finished chains past their keep time, oldest first, unless an unfinished job refers to them.
-- flags: allow-oom
-- include: remove
-- include: recall
-- op: the limit
local before = recall()
if before then
  return before
end
redis.call('DEL', KEYS[2])

local LONGEST_LOOK = 1000
local expired = redis.call('ZRANGEBYSCORE', prefix .. 'expiring', '-inf', int(now), 'LIMIT', 0, LONGEST_LOOK)
local pruned, kept = {}, 0
for _, chain in ipairs(expired) do
  if #pruned >= op then
    break
  end
  if not is_chain(chain) then
    displace(prefix .. 'expiring', chain)
  elseif #waiting(chain, { [chain] = true }) == 0 then
    remove_chain(chain)
    pruned[#pruned + 1] = chain
  else
    kept = kept + 1
  end
end
finish()
return #pruned > 0 and remember(pruned) or pruned
