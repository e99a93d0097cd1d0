-- include: steps
-- include: details
-- retry_from_step: what a retry from a step removes, as `removed_from` in core/steps.py.
local from_step = {}

-- removed: the steps of a job from this one on, and its open sleeps and receives; nil if it has no such step.
function from_step.removed(id, name)
  local all, first, found = steps.of(id), nil, {}
  for _, step in ipairs(all) do
    if step.facts[1] == name and (not first or step.facts[4] < first) then
      first = step.facts[4]
    end
  end
  for _, step in ipairs(first and all or {}) do
    if step.facts[4] >= first or steps.is_wait(step.facts) then
      found[#found + 1] = step
    end
  end
  return first and found
end

-- increase_epoch: the details of a job after one more retry from a step. No other field has this name and a number.
function from_step.increase_epoch(details)
  if not details then
    return '{"epoch":1}'
  end
  local changed, found = string.gsub(details, '"epoch":(%d+)', function(epoch)
    return '"epoch":' .. int(epoch + 1)
  end, 1)
  return found == 1 and changed or string.sub(details, 1, -2) .. ',"epoch":1}'
end

-- remove: delete these steps of a job and the messages that they received, and increase its epoch. The caller saves the job.
function from_step.remove(job, found)
  for _, step in ipairs(found) do
    redis.call('HDEL', steps.key(job.id), step.field)
    if step.facts[3] == 'receive' then
      local name = step.facts[1]
      redis.call('HDEL', steps.messages(chain_of(job)), 'v' .. name, 'w' .. name)
    end
  end
  job.details = from_step.increase_epoch(long_details(job))
end
