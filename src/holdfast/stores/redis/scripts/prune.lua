-- prune: delete finished chains past their keep time, oldest first, unless an unfinished job waits for them.
-- flags: allow-oom
-- include: remove
-- include: pending_sets
-- include: saved_reply
-- include: audit
-- op: { limit, how many of the oldest to skip because they were checked before and stay }
-- The answer begins with how many of the checked chains stay, and whether all were checked. One script deletes at most a
-- hundred jobs, or one longer chain.
local before = saved_reply()
if before then
  return before
end
redis.call('DEL', KEYS[2])

-- holds_order: whether a failed job has a place in an order.
local function holds_order(job)
  if job.status ~= FAILED or not has_lanes(job) then
    return false
  end
  need_lanes()
  for _, rule in ipairs(lanes.order_rules(job)) do
    if redis.call('ZSCORE', lanes.key('places', rule.lane), (lanes.place_of(job, rule))) then
      return true
    end
  end
  return false
end

-- clear: remove the payloads of a chain that exists only because its key is not free yet; false if it is free.
local function clear(chain)
  local last, dedup_for = last_of(chain), load(chain).dedup_for
  local taken_until = dedup_for and last.status == COMPLETED and plus(last.finished_at, dedup_for)
  if not taken_until or tonumber(taken_until) <= now then
    return false
  end
  for _, id in ipairs(job_ids(chain)) do
    redis.call('HSET', job_key(id), 'i', payload(1))
    redis.call('HDEL', job_key(id), 'o', 'e')
    redis.call('DEL', prefix .. 'h:' .. id, prefix .. 't:' .. id)
  end
  redis.call('DEL', prefix .. 'm:' .. chain)
  index_add(prefix .. 'expiring', chain, taken_until)
  return true
end

local past_keep = redis.call('ZRANGEBYSCORE', prefix .. 'expiring', '-inf', int(now), 'LIMIT', op[2], op[1])
local answer, kept, jobs, changed = { '0', #past_keep < op[1] and 'end' or '' }, 0, 0, 0
for _, chain in ipairs(past_keep) do
  if not is_chain(chain) then
    index_remove(prefix .. 'expiring', chain)
  elseif redis.call('EXISTS', references.dependents_key(chain)) == 0 and not releasing(chain) and not holds_order(last_of(chain)) then
    jobs = jobs + length(chain)
    if jobs > MAX_REMOVED and changed > 0 then
      answer[2] = ''
      break
    end
    changed = changed + 1
    if not clear(chain) then
      remove_chain(chain)
      answer[#answer + 1] = chain
    end
  else
    kept = kept + 1
  end
end
finish()
need_add_up()
add_up.changes()
add_up.forget_groups(now - 604800000000)

-- Delete the fields of empty pending sets without running jobs: the next job adds the field again. Each script checks a
-- hundred random fields, so that every field is checked at some time.
for _, field in ipairs(answer[2] == 'end' and redis.call('HRANDFIELD', root, 100) or {}) do
  local set, type = string.match(field, '^' .. PENDING_SET .. '(-?%d+:(.*))$')
  if set and redis.call('EXISTS', prefix .. 'q:' .. set, running_key(type), prefix .. 'laned:' .. type) == 0 then
    redis.call('HDEL', root, field)
  end
end
if answer[2] == 'end' then
  prune_audit()
end
answer[1] = int(kept)
return #answer > 2 and save_reply(answer) or answer
