-- prune: delete finished chains past their keep time, oldest first, unless an unfinished job refers to them.
-- flags: allow-oom
-- include: remove
-- include: lines
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

-- A line that is empty, of a type that nobody runs: it comes back with its next job. A hundred fields at random are
-- enough for one script, and in the end all.
for _, field in ipairs(answer[2] == 'end' and redis.call('HRANDFIELD', root, 100) or {}) do
  local line, type = string.match(field, '^' .. LINE .. '(-?%d+:(.*))$')
  if line and redis.call('EXISTS', prefix .. 'q:' .. line, running_key(type)) == 0 then
    redis.call('HDEL', root, field)
  end
end
answer[1] = int(kept)
return #answer > 2 and remember(answer) or answer
