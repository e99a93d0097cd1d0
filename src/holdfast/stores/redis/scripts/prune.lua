-- prune: delete finished chains past their keep time, oldest first, unless an unfinished job waits for them.
-- flags: allow-oom
-- include: remove
-- include: pending_sets
-- include: saved_reply
-- op: { limit, how many of the oldest to skip because they were checked before and stay }
-- The answer begins with how many of the checked chains stay, and whether all were checked. One script deletes at most a
-- hundred jobs, or one longer chain.
local before = saved_reply()
if before then
  return before
end
redis.call('DEL', KEYS[2])

local past_keep = redis.call('ZRANGEBYSCORE', prefix .. 'expiring', '-inf', int(now), 'LIMIT', op[2], op[1])
local answer, kept, jobs = { '0', #past_keep < op[1] and 'end' or '' }, 0, 0
for _, chain in ipairs(past_keep) do
  if not is_chain(chain) then
    index_remove(prefix .. 'expiring', chain)
  elseif redis.call('EXISTS', dependents_key(chain)) == 0 and not releasing(chain) then
    jobs = jobs + length(chain)
    if jobs > MAX_REMOVED and #answer > 2 then
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

-- Delete the fields of empty pending sets without running jobs: the next job adds the field again. Each script checks a
-- hundred random fields, so that every field is checked at some time.
for _, field in ipairs(answer[2] == 'end' and redis.call('HRANDFIELD', root, 100) or {}) do
  local set, type = string.match(field, '^' .. PENDING_SET .. '(-?%d+:(.*))$')
  if set and redis.call('EXISTS', prefix .. 'q:' .. set, running_key(type)) == 0 then
    redis.call('HDEL', root, field)
  end
end
answer[1] = int(kept)
return #answer > 2 and save_reply(answer) or answer
