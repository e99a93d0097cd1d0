-- include: tracks
-- lanes: what a change of a job means for its lanes.
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
  lanes.wake(rule.lane)
end

function lanes.leave_place(job, rule)
  redis.call('ZREM', lanes.key('places', rule.lane), (lanes.place_of(job, rule)))
  if rule.chain then
    redis.call('HDEL', lanes.key('kept', chain_of(job)), rule.lane)
  end
  lanes.wake(rule.lane)
  -- The track of the front may wait until the job that has left would have been due.
  local front = lanes.front_job(rule.lane)
  local track = front and lanes.read_track(lanes.of(front).track)
  if track and not track.parked then
    lanes.make_ready(track)
  end
end

-- order_rules: the orders of a job, and those that its chain keeps.
function lanes.order_rules(job)
  local rules, own = {}, lanes.of(job)
  for _, rule in ipairs(own and own.rules or {}) do
    if rule.kind == 'order' then
      rules[#rules + 1] = rule
    end
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
  elseif not string.find(job.details, '"lanes":', 1, true) then
    job.details = '{"lanes":null,' .. string.sub(job.details, 2)
  end
  save(job)
end

-- left: a job leaves its status.
function lanes.left(job)
  local own = lanes.of(job)
  if not own then
    return
  elseif job.status == PENDING then
    redis.call('ZREM', lanes.key('wait', own.track), index_member(job))
    redis.call('ZREM', lanes.key('laned', job.type), index_member(job))
  elseif job.status == RUNNING then
    for _, rule in ipairs(own.rules) do
      redis.call('ZREM', lanes.key('held', rule.lane), job.id)
      if redis.call('EXISTS', lanes.key('held', rule.lane)) == 0 then
        redis.call('SREM', prefix .. 'held', rule.lane)
      end
      -- `entered` or `removed` follows: it wakes an order, when its front is known.
      if rule.kind ~= 'order' then
        lanes.wake(rule.lane)
      end
    end
    due[job.type] = true
  end
end

-- entered: a job has another status now. `handed_over`: its chain continues.
function lanes.entered(job, kind, handed_over)
  local own = lanes.of(job)
  if kind == 'retried' then
    redis.call('HDEL', job_key(job.id), 'n')
    local first = load(chain_of(job))
    local from = first.details and string.find(first.details, '"lanes":', 1, true) and lanes.of(first)
    for _, rule in ipairs(from and from.rules or {}) do
      if rule.kind == 'order' and rule.chain then
        lanes.take_place(first, rule)
      end
    end
  end
  for _, rule in ipairs(lanes.order_rules(job)) do
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
    lanes.enter_track(job, own)
  end
end

-- removed: a job is deleted.
function lanes.removed(job)
  for _, rule in ipairs(lanes.order_rules(job)) do
    lanes.leave_place(job, rule)
  end
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
      lanes.wake(rule.lane)
    end
  end
end
