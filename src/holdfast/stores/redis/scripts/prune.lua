-- prune: delete finished chains past their keep time, oldest first, unless an unfinished job refers to them.
-- flags: allow-oom
-- include: remove
-- include: recall
-- op: { the limit, how many of the oldest were looked at before and stay }
-- The answer begins with how many of those looked at now stay, and whether that was the end. A hundred jobs, or one chain
-- that has more of them, are enough for one script.
local before = recall()
if before then
  return before
end
redis.call('DEL', KEYS[2])

local past_keep = redis.call('ZRANGEBYSCORE', prefix .. 'expiring', '-inf', int(now), 'LIMIT', op[2], op[1])
local answer, kept, jobs = { '0', #past_keep < op[1] and 'end' or '' }, 0, 0
for _, chain in ipairs(past_keep) do
  if not is_chain(chain) then
    displace(prefix .. 'expiring', chain)
  elseif redis.call('EXISTS', dependents_key(chain)) == 0 and not releasing(chain) then
    jobs = jobs + length(chain)
    if jobs > MOST_REMOVED and #answer > 2 then
      answer[2] = ''
      break
    end
    remove_chain(chain)
    answer[#answer + 1] = chain
  else
    kept = kept + 1
  end
end
finish()
answer[1] = int(kept)
return #answer > 2 and remember(answer) or answer
