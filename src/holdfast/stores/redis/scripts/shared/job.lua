-- include: frame
-- job: a job's row, read once per script and written at once.
-- A row is a hash: `s` everything but the payloads, in a fixed order; `i` the input, `o` the output, `e` the error,
-- opaque bytes that no script looks into.
local BLOCKED, PENDING, RUNNING, COMPLETED, FAILED, CANCELLED = 'b', 'p', 'r', 'c', 'f', 'x'
local FINISHED = { [COMPLETED] = true, [FAILED] = true, [CANCELLED] = true }

local function job_key(id)
  return prefix .. 'j:' .. id
end

-- Arguments, not a table: a table with holes would end at its first nil. The head says "an array of 25".
local function pack(job)
  return '\220\0\25' .. cmsgpack.pack(
    job.seq, job.type, job.chain, job.index, job.status, job.priority, job.attempt, job.max_attempts, job.key,
    job.worker, job.token, job.leased_until, job.renewed_at, job.progress, job.progress_note, job.created_at,
    job.scheduled_at, job.started_at, job.finished_at, job.timeout, job.keep, job.trace, job.blockers,
    job.open_blockers, job.on_blocker_failure
  )
end

local function unpack_job(id, state)
  local v = cmsgpack.unpack(state)
  return {
    id = id, seq = v[1], type = v[2], chain = v[3], index = v[4], status = v[5], priority = v[6], attempt = v[7],
    max_attempts = v[8], key = v[9], worker = v[10], token = v[11], leased_until = v[12], renewed_at = v[13],
    progress = v[14], progress_note = v[15], created_at = v[16], scheduled_at = v[17], started_at = v[18],
    finished_at = v[19], timeout = v[20], keep = v[21], trace = v[22], blockers = v[23], open_blockers = v[24],
    on_blocker_failure = v[25],
  }
end

local loaded = {}

-- load: the job with this id as it stands now, changes by this script included; nil if there is none.
local function load(id)
  local job = loaded[id]
  if job == nil then
    local state = redis.call('HGET', job_key(id), 's')
    job = state and unpack_job(id, state)
    loaded[id] = job
  end
  return job or nil
end

-- save: write a job's row. `payloads` are further fields and values of the hash.
local function save(job, payloads)
  job.state = pack(job)
  if payloads then
    redis.call('HSET', job_key(job.id), 's', job.state, unpack(payloads))
  else
    redis.call('HSET', job_key(job.id), 's', job.state)
  end
end

-- chain_of: the chain's id; a first job does not repeat its own.
local function chain_of(job)
  return job.chain or job.id
end

-- show: append a job to an answer as five values: id, state, input, output, error. Tells whether it exists.
local function show(answer, id)
  local row = redis.call('HMGET', job_key(id), 's', 'i', 'o', 'e')
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4], answer[n + 5] = id, row[1], row[2], row[3], row[4]
end
