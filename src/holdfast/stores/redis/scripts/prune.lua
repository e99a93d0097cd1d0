-- prune: delete finished chains past their keep time, oldest first, unless an unfinished job refers to them.
-- flags: allow-oom
-- include: remove
-- include: recall
-- op: { the limit, how many of the oldest were looked at before and stay }
-- The answer begins with how many of those looked at now stay, and whether that was the end.
local before = recall()
if before then
  return before
end
redis.call('DEL', KEYS[2])

local expired = redis.call('ZRANGEBYSCORE', prefix .. 'expiring', '-inf', int(now), 'LIMIT', op[2], op[1])
local answer, kept = { '0', #expired < op[1] and 'end' or '' }, 0
for _, chain in ipairs(expired) do
  if not is_chain(chain) then
    displace(prefix .. 'expiring', chain)
  elseif redis.call('EXISTS', dependents_key(chain)) == 0 then
    remove_chain(chain)
    answer[#answer + 1] = chain
  else
    kept = kept + 1
  end
end
finish()
answer[1] = int(kept)
return #answer > 2 and remember(answer) or answer
