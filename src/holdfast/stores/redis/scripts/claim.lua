-- claim: hand out due jobs, best first: higher priority, then earlier due, then earlier made.
-- flags: allow-oom
-- include: hints
-- include: lines
-- op: { terms, limit, worker, token, had, fresh }, each of the terms { type, lease, max_attempts }; `had` is how many
-- jobs the caller was given under this token before, `fresh` whether it takes others than those it did not hear of.
-- A full server empties itself only if what it holds can still be worked on. The first write takes from a line: no server
-- refuses that.
local terms, limit, worker, token, had, fresh = op[1], op[2], op[3], op[4], op[5], op[6]
local answer = {}

-- What each worker claimed last, after its token, so that a claim whose answer was lost hands out the same jobs again.
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

-- Which types have jobs of which priority.
local lines_of, paused = read_lines()
local by_priority, priorities = {}, {}
for _, term in ipairs(terms) do
  if not paused[term[1]] then
    for _, priority in ipairs(lines_of[term[1]] or {}) do
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

-- Lines are read from their heads, a few at a time.
local function open_line(term, priority, size)
  return { term = term, key = pending_key(term[1], priority), priority = priority, size = size, taken = 0, at = 0 }
end

local function head(line)
  if not line.rows or (line.at * 2 >= #line.rows and #line.rows == line.size * 2) then
    line.rows = redis.call(
      'ZRANGEBYSCORE', line.key, '-inf', int(now), 'WITHSCORES', 'LIMIT', line.taken, line.size
    )
    line.at = 0
  end
  line.member = line.rows[line.at * 2 + 1]
  line.score = tonumber(line.rows[line.at * 2 + 2])
  return line.member
end

local function take_best(lines)
  local best
  for _, line in ipairs(lines) do
    if head(line) then
      if not best or line.score < best.score or (line.score == best.score and line.member < best.member) then
        best = line
      end
    end
  end
  if best then
    best.at, best.taken = best.at + 1, best.taken + 1
  end
  return best
end

-- close_line: take what was chosen out of a line; forget one that is empty, though never its type.
local function close_line(line)
  if line.taken > 0 then
    redis.call('ZREMRANGEBYRANK', line.key, 0, line.taken - 1)
  elseif line.priority ~= '0' and redis.call('EXISTS', line.key) == 0 then
    redis.call('HDEL', root, LINE .. line_name(line.term[1], line.priority))
    redis.call('HSET', root, LINE .. line_name(line.term[1], 0), '')
  end
end

local taken = {}
for _, priority in ipairs(priorities) do
  local lines = {}
  local size = math.max(5, math.ceil((limit - #taken) / #by_priority[priority]))
  for _, term in ipairs(by_priority[priority]) do
    lines[#lines + 1] = open_line(term, priority, size)
  end
  while #taken < limit do
    local line = take_best(lines)
    if not line then
      break
    end
    taken[#taken + 1] = { member = line.member, term = line.term }
  end
  for _, line in ipairs(lines) do
    close_line(line)
  end
  if #taken >= limit then
    break
  end
end

for _, each in ipairs(taken) do
  local id = id_of(each.member)
  local row = redis.call('HMGET', job_key(id), 's', 'i', 'e')
  local job = row[1] and unpack_job(id, row[1])
  if job and job.status == PENDING then
    job.status = RUNNING
    job.attempt = job.attempt + 1
    job.max_attempts = job.max_attempts or each.term[3]
    job.worker, job.token = worker, token
    job.leased_until, job.renewed_at, job.started_at = plus(now, each.term[2]), now, now
    job.progress, job.progress_note = nil, nil
    save(job)
    place(running_key(job.type), each.member, job.leased_until)
    note(job, 'claimed')
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4], answer[n + 5] = id, job.state, row[2], false, row[3]
    ids[#ids + 1] = id
  end
end
if #answer > 0 then
  redis.call('SET', claimed_key, token .. cmsgpack.pack(ids), 'PX', ARGV[4])
  finish()
end
return answer
