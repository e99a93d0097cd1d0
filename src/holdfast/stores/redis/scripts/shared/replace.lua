-- include: blocking
-- include: dependency_cycle
-- include: origin
-- replace: change a chain that has not begun, for a start with the same key.
-- refused_replacement: the error if a replaced chain would wait for itself; nil if none does.
local function refused_replacement(jobs, found)
  -- First: a job that fails because of a chain that ended earlier in this script waits no longer.
  release_dependents()
  local beside = {}
  for n, job in ipairs(jobs) do
    if not found[n] or job.replaces then
      local chain = found[n] or job.id
      beside[chain] = job.after or {}
      local refused = found[n] and refused_cycle(chain, beside[chain], beside)
      if refused then
        return refused
      end
    end
  end
end

-- due_as_replaced: when the chain is due. The field `d` is the time of the first replacement after an attempt.
local function due_as_replaced(old, job)
  local due, since = due_at(job.at, job.delay), tonumber(redis.call('HGET', job_key(old.id), 'd') or old.created_at)
  if old.attempt > 0 then
    since = now
    redis.call('HSET', job_key(old.id), 'd', int(now))
  end
  local latest = job.due_within and plus(since, job.due_within)
  if latest and tonumber(latest) < tonumber(due) then
    return tonumber(latest) > now and latest or now
  end
  return due
end

-- new_details: the details of a replaced chain. After an attempt its epoch is increased: its steps get other ids.
local function new_details(old, new)
  local before = long_details(old)
  local epoch = tonumber(before and string.match(before, '"epoch":(%d+)') or 0) + (old.started_at and 1 or 0)
  if epoch == 0 then
    return new.details
  end
  local details = long_details(new)
  return (details and string.sub(details, 1, -2) .. ',' or '{') .. '"epoch":' .. int(epoch) .. '}'
end

-- replace_chain: give a chain the input and the options of this start. A chain that has begun is not changed.
local function replace_chain(chain, job)
  local old = load(chain)
  local waits = old.status == PENDING or old.status == BLOCKED
  if not waits or old.chain or old.type ~= job.type or old.key ~= job.key then
    return
  end
  leave_status(old)
  if has_lanes(old) then
    need_lanes()
    lanes.removed(old)
  end
  if old.blockers > 0 then
    references.forget_dependent(old)
  end
  forget_origin(old)
  redis.call('HDEL', job_key(chain), 'e', 'o', 'n')
  -- The caller has encoded the state except for its first five values, as for a new job.
  local new = unpack_job(chain, cmsgpack.pack(old.seq, old.created_at, nil, PENDING, 0) .. job.rest)
  new.token, new.by, new.after, new.scheduled_at = old.token, old.by, job.after, due_as_replaced(old, job)
  new.details = new_details(old, new)
  remember_origin(new)
  loaded[chain] = new
  local broken = job.after and block(new)
  enter_status(new, 'replaced', 'i', job.input)
  if broken and new.on_blocker_failure == 'fail' then
    fail_with(new, broken)
  elseif new.status == BLOCKED and new.open_blockers == 0 then
    rules.cancel(new)
  end
end
