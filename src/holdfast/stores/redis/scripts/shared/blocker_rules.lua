-- include: chain
-- blocker_rules: what a job with `when=` waits for, as `holdfast.core.blocker_rules` defines it. One table, because a Lua
-- function may refer to at most sixty outer variables.
local rules = { FAILED = 'when_failed', ENDED = 'when_ended', CANCELLED = 'x' }

-- waits: whether a job waits for a failure or for ends. A rule of nil means `wait`.
function rules.waits(job)
  return job.on_blocker_failure == rules.FAILED or job.on_blocker_failure == rules.ENDED
end

-- status: the status of a job with such a rule, and how many of these blockers are open. `retried` has chains that this
-- script makes unfinished again.
function rules.status(rule, chains, retried)
  local left, seen = 0, {}
  for _, chain in ipairs(chains) do
    local status = retried[chain] and PENDING or last_of(chain).status
    if rule == rules.FAILED and (status == FAILED or status == rules.CANCELLED) then
      return PENDING, 0
    elseif not FINISHED[status] and not seen[chain] then
      left = left + 1
    end
    seen[chain] = true
  end
  if left > 0 then
    return BLOCKED, left
  end
  return rule == rules.FAILED and rules.CANCELLED or PENDING, 0
end
