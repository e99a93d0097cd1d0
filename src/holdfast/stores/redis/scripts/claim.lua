-- claim: claim due jobs, best first: higher priority, then earlier due, then earlier created.
-- flags: allow-oom
-- include: hints
-- include: pending_sets
-- include: claimed_state
-- lazy: single_lane_claims
-- op: { terms, limit, worker, token, had, fresh, slots, finds_new }, each of the terms { type, lease, max_attempts, ahead }. `had` is
-- the number of jobs that the caller received under this token. Without `fresh`, only jobs of an earlier claim are returned.
-- With `finds_new`, a job that no worker had claimed before has a 1 in place of its output, which is empty.
-- More than `slots` jobs are claimed only if the terms of all of them have `ahead`, and no jobs with lanes may be claimed.
-- Claims must work at maxmemory, or the jobs could never be finished. The first write removes from a sorted set, which
-- every server permits.
local terms, limit, worker, token, had, fresh, slots = op[1], op[2], op[3], op[4], op[5], op[6], op[7]
local finds_new = op[8]
local answer = {}

-- The last claim of each worker, after its token, so that a claim whose reply was lost returns the same jobs.
local claimed_key = prefix .. 'claimed:' .. worker
local known = redis.call('GETRANGE', claimed_key, 0, #token - 1) == token
local ids = known and cmsgpack.unpack(string.sub(redis.call('GET', claimed_key), #token + 1)) or {}
if #ids > had then
  for n = had + 1, math.min(#ids, had + limit) do
    local job = load(ids[n])
    if job and job.status == RUNNING and job.token == token then
      show(answer, job.id)
    end
  end
  return answer
end
if not fresh then
  return answer
end

-- The types that have jobs, per priority.
local priorities_of, paused, has_lane_field = read_pending_sets()
local by_priority, priorities = {}, {}
for _, term in ipairs(terms) do
  if not paused[term[1]] then
    for _, priority in ipairs(priorities_of[term[1]] or {}) do
      if not by_priority[priority] then
        by_priority[priority] = {}
        priorities[#priorities + 1] = priority
      end
      table.insert(by_priority[priority], term)
    end
  end
end
table.sort(priorities, function(a, b)
  return tonumber(a) > tonumber(b)
end)

local taken = {}

-- claimed_by: what `claimed_state` returns for a claim with this term. The lease of each term is computed once.
local leased_until = {}

local function claimed_by(term, state)
  local lease_end = leased_until[term] or plus(now, term[2])
  leased_until[term] = lease_end
  return claimed_state(state, worker, token, lease_end, term[3])
end

-- Pending sets are read from the front, a few members at a time.
local function open_set(term, priority, size)
  return { term = term, key = pending_key(term[1], priority), priority = priority, size = size, taken = 0, at = 0 }
end

local function head(set)
  if not set.rows or (set.at * 2 >= #set.rows and #set.rows == set.size * 2) then
    set.rows = redis.call(
      'ZRANGEBYSCORE', set.key, '-inf', int(now), 'WITHSCORES', 'LIMIT', set.taken, set.size
    )
    set.at = 0
  end
  set.member = set.rows[set.at * 2 + 1]
  set.score = tonumber(set.rows[set.at * 2 + 2])
  return set.member
end

-- take_best: the best job of these sets. After a job that may not be claimed ahead, the claim ends with `slots` jobs.
local function take_best(sets)
  local best
  for _, set in ipairs(sets) do
    if head(set) then
      if not best or set.score < best.score or (set.score == best.score and set.member < best.member) then
        best = set
      end
    end
  end
  if best and not best.term[4] and limit > slots then
    limit = math.max(slots, #taken)
    if #taken >= limit then
      return nil
    end
  end
  if best then
    best.at, best.taken = best.at + 1, best.taken + 1
  end
  return best
end

-- close_set: remove the claimed members from a set. Delete the field of an empty set, but keep one field per type.
local function close_set(set)
  if set.taken > 0 then
    redis.call('ZREMRANGEBYRANK', set.key, 0, set.taken - 1)
  elseif set.priority ~= '0' and redis.call('EXISTS', set.key) == 0 then
    redis.call('HDEL', root, PENDING_SET .. pending_set_name(set.term[1], set.priority))
    redis.call('HSET', root, PENDING_SET .. pending_set_name(set.term[1], 0), '')
  end
end

-- may_have_lanes: whether tracks of these types are ready, or become ready now.
-- One command is enough while all jobs with lanes wait for full lanes. The number of arguments of a call is limited.
local function may_have_lanes(types)
  local keys = { prefix .. 'wakes' }
  for _, type in ipairs(types) do
    keys[#keys + 1] = prefix .. 'ready:' .. type
    keys[#keys + 1] = prefix .. 'timed:' .. type
  end
  if #keys < 1000 and redis.call('EXISTS', unpack(keys)) == 0 then
    return false
  end
  if redis.call('ZCOUNT', prefix .. 'wakes', '-inf', int(now)) > 0 then
    return true
  end
  for _, type in ipairs(types) do
    if redis.call('EXISTS', prefix .. 'ready:' .. type) == 1
      or redis.call('ZCOUNT', prefix .. 'timed:' .. type, '-inf', int(now)) > 0 then
      return true
    end
  end
  return false
end

local unpaused, term_of = {}, {}
for _, term in ipairs(terms) do
  if not paused[term[1]] then
    unpaused[#unpaused + 1], term_of[term[1]] = term[1], term
  end
end

-- claim_level: take jobs of one priority. Plain jobs and tracks alternate; each track gives one job in turn.
-- `unread`: there may be more tracks. If the tracks of the queue must wait, these may be better than the next plain jobs.
-- The pass ends early if a job that was not read may be better than the next one.
local lanes_next = false

local function claim_level(sets, queue, pass, unread)
  local first = 1
  while #taken < limit and (queue[first] or not (unread or pass.hidden)) do
    local set = not (lanes_next and queue[first]) and take_best(sets)
    if set then
      taken[#taken + 1] = { member = set.member, term = set.term }
      lanes_next = true
    elseif queue[first] then
      local track = queue[first]
      first = first + 1
      if not track.members[track.at + 1] and track.has_more and lanes.has_room(track) then
        pass.ended = true
        return
      end
      local job = lanes.take_from(track, pass.parked, claimed_by, term_of[track.type])
      if job then
        taken[#taken + 1] = job
        pass.served[#pass.served + 1] = track
        local members = pass.taken[track.type] or {}
        pass.taken[track.type] = members
        members[#members + 1] = job.member
        queue[#queue + 1] = track
        lanes_next = false
      elseif track.lanes[2] and pass.parked[track.id] and lanes.hides_others(track, pass.parked[track.id]) then
        pass.hidden = true
      end
    else
      break
    end
  end
end

-- claim_pass: take jobs of all priorities, those of these tracks included. `unread`: the priority of further tracks.
-- Returns the tracks that were served, in order, the jobs that were taken, by type, and the lanes that tracks wait for.
local function claim_pass(tracks, unread)
  local queues, levels, pass = {}, {}, { served = {}, taken = {}, parked = {} }
  for _, priority in ipairs(priorities) do
    levels[#levels + 1] = priority
  end
  for _, track in ipairs(tracks) do
    if not queues[track.priority] then
      queues[track.priority] = {}
      if not by_priority[track.priority] then
        levels[#levels + 1] = track.priority
      end
    end
    table.insert(queues[track.priority], track)
  end
  table.sort(levels, function(a, b)
    return tonumber(a) > tonumber(b)
  end)
  for _, priority in ipairs(levels) do
    local sets, those = {}, by_priority[priority] or {}
    -- The size is large enough that a claim of few jobs reads each set once, also if one set has all the jobs.
    local size = math.min(math.max(1, limit - #taken), math.max(10, math.ceil((limit - #taken) / math.max(1, #those))))
    for _, term in ipairs(those) do
      sets[#sets + 1] = open_set(term, priority, size)
    end
    claim_level(sets, queues[priority] or {}, pass, unread and tonumber(priority) <= unread)
    for _, set in ipairs(sets) do
      close_set(set)
    end
    if #taken >= limit or pass.ended or pass.hidden then
      break
    end
  end
  return pass
end

-- is_plain_due: whether a job without lanes of this priority or a higher one is due.
local function is_plain_due(priority)
  local keys = {}
  for _, each in ipairs(priorities) do
    for _, term in ipairs(tonumber(each) >= priority and by_priority[each] or {}) do
      keys[#keys + 1] = pending_key(term[1], each)
    end
  end
  if any_exists(keys) then
    for _, key in ipairs(keys) do
      if redis.call('ZCOUNT', key, '-inf', int(now)) > 0 then
        return true
      end
    end
  end
  return false
end

if has_lane_field and may_have_lanes(unpaused) then
  need_single_lane_claims()
  limit = math.min(limit, slots)
  lanes_next = redis.call('HGET', prefix .. 'lanes', 'next') == '1'
  local before, passes = nil, 0
  repeat
    before, passes = #taken, passes + 1
    local asked = limit - #taken
    local ranks = lanes.best_ranks(unpaused, asked)
    local more = lanes.single_lane_pass(ranks, asked, taken, claimed_by, term_of, is_plain_due)
    if more == nil then
      local tracks = lanes.ready_tracks(unpaused, asked, ranks)
      local unread = tracks[1] and #tracks == asked and tonumber(tracks[asked].priority)
      local pass = claim_pass(tracks, unread)
      more = lanes.end_pass(tracks, pass.served, pass.taken, pass.parked)
    elseif #taken > before then
      lanes_next = false
    end
  until #taken >= limit or not (more or #taken > before) or passes >= 100
  redis.call('HSET', prefix .. 'lanes', 'next', lanes_next and '1' or '0')
else
  claim_pass({})
end

for _, each in ipairs(taken) do
  local id, term = member_id(each.member), each.term
  local row, claimed, type, begun = each.row, each.claimed, each.type, each.begun
  if not row then
    row = redis.call('HMGET', job_key(id), 's', 'i', 'e')
    if row[1] then
      claimed, type, begun = claimed_by(term, row[1])
    end
  end
  if claimed then
    redis.call('HSET', job_key(id), 's', claimed)
    index_add(running_key(type), each.member, leased_until[term])
    loaded[id] = nil
    if listening then
      record_event(unpack_job(id, claimed), 'claimed')
    end
    local n = #answer
    local new = finds_new and not begun or false
    answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4], answer[n + 5] = id, claimed, row[2], new, row[3]
    ids[#ids + 1] = id
  end
end
if #answer > 0 then
  redis.call('SET', claimed_key, token .. cmsgpack.pack(ids), 'PX', ARGV[4])
  finish()
end
return answer
