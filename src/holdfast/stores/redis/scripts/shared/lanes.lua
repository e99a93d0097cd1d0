-- include: parking
-- lanes: what a change of a job means for its lanes.
-- A script collects the jobs that enter tracks, the jobs that no longer run, and the lanes that change. `lanes.write`
-- writes them together, before the script ends.
lanes.entering, lanes.released, lanes.changed = {}, {}, {}

function lanes.place_of(job, rule)
  local first = rule.chain and load(chain_of(job)) or job
  return struct.pack('>I8', first.seq) .. chain_of(job), first.seq
end

function lanes.take_place(job, rule)
  local member, position = lanes.place_of(job, rule)
  redis.call('ZADD', lanes.key('places', rule.lane), int(position), member)
  if rule.chain then
    redis.call('HSET', lanes.key('kept', chain_of(job)), rule.lane, rule.hold == false and 'skip' or 'hold')
  end
  lanes.fronts[rule.lane], lanes.changed[rule.lane] = nil, true
end

-- leave_place: returns whether the job had a place.
function lanes.leave_place(job, rule)
  local left = redis.call('ZREM', lanes.key('places', rule.lane), (lanes.place_of(job, rule))) == 1
  if rule.chain then
    redis.call('HDEL', lanes.key('kept', chain_of(job)), rule.lane)
  end
  lanes.fronts[rule.lane], lanes.changed[rule.lane] = nil, true
  if job.ran then
    return left
  end
  -- A track may wait for the due time of the job that has left: the track of this job, or that of the job at the front
  -- now. No track waits for the due time of a job that ran.
  for _, each in ipairs({ job, lanes.front_job(rule.lane) }) do
    local own = lanes.of(each)
    local track = own and lanes.read_track(own.track)
    if track and not track.parked then
      lanes.make_ready(track)
    end
  end
  return left
end

-- order_rules: the orders of a job, and those that its chain keeps. `is_only`: the chain has no other job.
function lanes.order_rules(job, is_only)
  local rules, own, keeps = {}, lanes.of(job), not is_only
  for _, rule in ipairs(own and own.rules or {}) do
    if rule.kind == 'order' then
      rules[#rules + 1] = rule
      keeps = keeps or rule.chain
    end
  end
  if not keeps then
    return rules
  end
  local kept = redis.call('HGETALL', lanes.key('kept', chain_of(job)))
  for n = 1, #kept, 2 do
    rules[#rules + 1] = { kind = 'order', lane = kept[n], hold = kept[n + 1] == 'hold', chain = true }
  end
  return rules
end

-- keep_in_order: mark the next job of a chain that keeps an order. Its details show that it has to do with lanes.
function lanes.keep_in_order(chain)
  local job = last_of(chain)
  if not job.details then
    job.details = '{"lanes":null}'
  elseif not has_lanes(job) then
    job.details = '{"lanes":null,' .. string.sub(job.details, 2)
  end
  save(job)
end

local function release_later(lane, member)
  local n = #lanes.released
  lanes.released[n + 1], lanes.released[n + 2] = lane, member
end

-- left: a job leaves its status. `member`: its member of an index. Most jobs leave one lane, whose name is in their details.
function lanes.left(job, member)
  job.ran = job.status == RUNNING
  local only = job.ran and only_lane(job.details)
  local own = not only and lanes.of(job)
  if not (only or own) then
    return
  elseif job.status == PENDING then
    if #lanes.entering > 0 then
      lanes.enter_tracks()
    end
    redis.call('ZREM', lanes.key('wait', own.track), member)
    index_remove(lanes.key('laned', job.type), member)
  elseif job.status == RUNNING then
    if only then
      release_later(only, member)
    else
      for _, rule in ipairs(own.rules) do
        release_later(rule.lane, member)
      end
    end
    due[job.type] = true
  end
end

-- entered: a job has another status now. `handed_over`: its chain continues.
function lanes.entered(job, kind, handed_over)
  if job.ran and job.status == COMPLETED and not job.chain and not handed_over then
    -- The same as below, for most jobs: the only job of a chain leaves its order, if it has one.
    local only, is_order = only_lane(job.details)
    if is_order then
      redis.call('ZREM', lanes.key('places', only), index_member(job))
      lanes.fronts[only] = nil
    end
    if only then
      return
    end
  end
  local own = lanes.of(job)
  if kind == 'retried' then
    redis.call('HDEL', job_key(job.id), 'n')
    local first = load(chain_of(job))
    local from = has_lanes(first) and lanes.of(first)
    for _, rule in ipairs(from and from.rules or {}) do
      if rule.kind == 'order' and rule.chain then
        lanes.take_place(first, rule)
      end
    end
  end
  for _, rule in ipairs(lanes.order_rules(job, not job.chain and not handed_over)) do
    local stays = not FINISHED[job.status]
    if job.status == COMPLETED then
      stays = rule.chain and handed_over
      if stays then
        lanes.keep_in_order(chain_of(job))
      end
    elseif job.status == FAILED then
      stays = rule.hold ~= false
    end
    if stays then
      lanes.take_place(job, rule)
    else
      lanes.leave_place(job, rule)
    end
  end
  if own and job.status == PENDING then
    table.insert(lanes.entering, job)
    due[job.type] = true
  end
end

-- removed: a job is deleted, or leaves its orders. Returns whether it had a place in one.
function lanes.removed(job)
  local left = false
  for _, rule in ipairs(lanes.order_rules(job)) do
    left = lanes.leave_place(job, rule) or left
  end
  return left
end

-- refund: a job was released before its handler began: its rates do not count the attempt.
function lanes.refund(job)
  local own = lanes.of(job)
  if not own or tonumber(redis.call('HGET', job_key(job.id), 'n') or 0) ~= job.attempt then
    return
  end
  redis.call('HDEL', job_key(job.id), 'n')
  for _, rule in ipairs(own.rules) do
    local state = lanes.state(rule.lane)
    if state.kind == 'rate' and state.number > 0 then
      state.tat = state.tat - lanes.interval(state, rule.weight or 1)
      redis.call('HSET', prefix .. 'tats', rule.lane, int(state.tat))
      lanes.changed[rule.lane] = true
    end
  end
end

-- new_track: a track for its first job.
function lanes.new_track(job, own)
  local ids, order = {}, nil
  for n, rule in ipairs(own.rules) do
    ids[n] = rule.lane
    order = order or rule.kind == 'order' and rule.lane or nil
    local name = lanes.name(rule.lane)
    if not lanes.read_limit(name) then
      lanes.write_limit(name, { kind = rule.kind, declared = rule.number or 1, per = rule.per or 0, burst = rule.burst or 1 })
    end
  end
  return { id = own.track, type = job.type, priority = int(job.priority), fair = own.fair, lanes = ids, order = order }
end

-- enter_tracks: add the collected jobs to their tracks. A parked track stays parked, except at an order: the job may be the front.
function lanes.enter_tracks()
  local ids, missing, new = {}, {}, {}
  for n, job in ipairs(lanes.entering) do
    ids[n] = lanes.of(job).track
  end
  lanes.read_tracks(ids)
  for n, job in ipairs(lanes.entering) do
    local id = ids[n]
    if not lanes.tracks[id] and not missing[id] then
      missing[id] = true
      new[#new + 1] = lanes.new_track(job, lanes.of(job))
    end
    redis.call('ZADD', lanes.key('wait', id), int(job.scheduled_at), index_member(job))
    index_add(lanes.key('laned', job.type), index_member(job), job.scheduled_at)
  end
  lanes.entering = {}
  if #new > 0 then
    lanes.add_tracks(new)
  end
  for _, id in ipairs(ids) do
    local track = lanes.tracks[id]
    if not track.parked or track.parked == track.order then
      lanes.make_ready(track)
    end
  end
end

-- write: write what was collected, and wake the lanes that have changed.
function lanes.write()
  if #lanes.entering > 0 then
    lanes.enter_tracks()
  end
  local released, left, list = lanes.released, {}, {}
  lanes.released = {}
  for n = 1, #released, 2 do
    left[(n + 1) / 2] = released[n]
  end
  lanes.read_holders(left)
  for n, lane in ipairs(left) do
    lanes.release(lane, released[2 * n])
  end
  lanes.write_holders()
  lanes.write_tracks()
  if lanes.any_parked() then
    for _, lane in ipairs(left) do
      lanes.changed[lane] = true
    end
    for lane in pairs(lanes.changed) do
      list[#list + 1] = lane
    end
    lanes.wake_all(list)
    lanes.write_tracks()
  end
  lanes.changed = {}
end

before_finish.lanes = lanes.write
