-- include: enter_pending
-- hooks: the chain that the permanent failure of a job starts, as `holdfast.core.lifecycle.hook_chain` decides it.
-- hook_id: a new id. The number of the hook's job is used once, and never again for another job.
local function hook_id(failed, seq, shard)
  local digest = redis.sha1hex(failed.id .. ' ' .. int(seq) .. ' ' .. int(now))
  local id = string.gsub(string.sub(digest, 1, 32), '^(........)(....)(....)(....)(.*)$', '%1-%2-%3-%4-%5')
  return shard and shard .. '~' .. id or id
end

-- hook_input: the failed job as a `Failure`. Its input is copied byte by byte: Lua would change large integers.
local function hook_input(failed, parameter, error)
  local input = redis.call('HGET', job_key(failed.id), 'i')
  return table.concat({
    '{', cjson.encode(parameter), ':{"job_id":', cjson.encode(failed.id), ',"chain_id":', cjson.encode(chain_of(failed)),
    ',"type":', cjson.encode(failed.type), ',"input":', input, ',"error":', cjson.encode(error), ',"attempts":',
    int(failed.attempt), '}}',
  })
end

-- hook_details: what the caller of the failed job sent along, its shard, and the hook of the hook's own type, as JSON.
local function hook_details(failed, details)
  local parts = { '"origin":' .. cjson.encode(failed.id) }
  for _, name in ipairs({ 'trace', 'carrier', 'shard' }) do
    if details[name] then
      parts[#parts + 1] = '"' .. name .. '":' .. cjson.encode(details[name])
    end
  end
  if details.on_failure['then'] then
    parts[#parts + 1] = '"on_failure":' .. details.on_failure['then']
  end
  if details.on_failure.hook_lanes then
    parts[#parts + 1] = '"lanes":' .. details.on_failure.hook_lanes
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

-- start_hook: start the hook of a job that failed with this error, if it has one. The caller checks that it has details.
-- The error is one line, as `holdfast.core.hooks.error_line` writes it.
local function start_hook(failed, error)
  -- pcall: an error after the first write would leave the script half done.
  local valid, details = pcall(cjson.decode, failed.details)
  local hook = valid and details.on_failure
  if not hook then
    return
  end
  last_seq = last_seq + 1
  local priority = hook.priority or 0
  local job = { id = hook_id(failed, last_seq, details.shard), seq = last_seq, type = hook.type, priority = priority, attempt = 0 }
  job.status, job.scheduled_at = PENDING, now
  -- The order of `pack` in `job`.
  local state = cmsgpack.pack(
    last_seq, now, nil, PENDING, 0, hook.type, nil, 0, priority, 0, hook.max_attempts, nil, nil, nil, nil, nil, nil, nil,
    nil, nil, nil, hook.keep, hook_details(failed, details), 0, nil, nil
  )
  redis.call('HSET', job_key(job.id), 's', state, 'i', hook_input(failed, hook.parameter, error))
  redis.call('ZADD', prefix .. 'st:' .. failed.id, job.seq, job.id)
  index_add(all_key, job.id, job.seq)
  counters.started(job.type)
  if hook.hook_lanes then
    need_lanes()
    lanes.entered(load(job.id), 'created')
  else
    enter_pending(job)
  end
  record_event(job, 'created')
end
