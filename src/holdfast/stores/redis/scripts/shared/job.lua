-- include: arguments
-- job: the row of a job, read once per script and written at once.
-- A row is a hash: `s` the state, which is everything but the payloads; `i` the input, `o` the output, `e` the error. The
-- payloads are bytes that no script decodes.
local BLOCKED, PENDING, RUNNING, COMPLETED, FAILED, CANCELLED = 'b', 'p', 'r', 'c', 'f', 'x'
local FINISHED = { [COMPLETED] = true, [FAILED] = true, [CANCELLED] = true }

local function job_key(id)
  return prefix .. 'j:' .. id
end

-- Twenty-six separate values, not one table: a table would be copied once more, and a nil would end it.
-- When a job is created, the script sets the first five; the caller has encoded the others (see `add`).
-- `scheduled_at` is nil if it is the creation time. A hash needs half the memory if no value is longer than 64 bytes.
-- The tail follows if one of its values is set: how many attempts in a row mismatched, the time of the first, and how long
-- the key of the chain is taken after its completion. A new value is added to the tail here, in `claimed_state` and in
-- `decode.StoredState`.
-- `by` is the request that started a chain under an id that the application chose (see `resent_start`).
local function pack(job)
  local later = job.scheduled_at ~= job.created_at and job.scheduled_at or nil
  local state = cmsgpack.pack(
    job.seq, job.created_at, later, job.status, job.open_blockers, job.type, job.chain, job.index,
    job.priority, job.attempt, job.max_attempts, job.key, job.worker, job.token, job.leased_until, job.renewed_at,
    job.progress, job.progress_note, job.started_at, job.finished_at, job.timeout, job.keep, job.details, job.blockers,
    job.on_blocker_failure, job.by
  )
  local has_tail = job.mismatches or job.dedup_for
  return has_tail and state .. cmsgpack.pack(job.mismatches, job.mismatched_at, job.dedup_for) or state
end

local function unpack_job(id, state)
  local seq, created_at, scheduled_at, status, open_blockers, type, chain, index, priority, attempt, max_attempts,
    key, worker, token, leased_until, renewed_at, progress, progress_note, started_at, finished_at, timeout, keep,
    details, blockers, on_blocker_failure, by, mismatches, mismatched_at, dedup_for = cmsgpack.unpack(state)
  -- Thirty values. A script may set two more: the table has room for 32, and would be copied to grow.
  return {
    id = id, seq = seq, created_at = created_at, scheduled_at = scheduled_at or created_at, status = status,
    open_blockers = open_blockers, type = type, chain = chain, index = index, priority = priority, attempt = attempt,
    max_attempts = max_attempts, key = key, worker = worker, token = token, leased_until = leased_until,
    renewed_at = renewed_at, progress = progress, progress_note = progress_note, started_at = started_at,
    finished_at = finished_at, timeout = timeout, keep = keep, details = details, blockers = blockers,
    on_blocker_failure = on_blocker_failure, by = by, mismatches = mismatches, mismatched_at = mismatched_at,
    dedup_for = dedup_for,
  }
end

local loaded = {}

-- load: the job with this id, with the changes of this script; nil if it does not exist.
local function load(id)
  local job = loaded[id]
  if job == nil then
    local state = redis.call('HGET', job_key(id), 's')
    job = state and unpack_job(id, state)
    loaded[id] = job
  end
  return job or nil
end

-- save: write the state of a job, and optionally a payload: its field and its bytes.
local function save(job, field, bytes)
  if bytes then
    redis.call('HSET', job_key(job.id), 's', pack(job), field, bytes)
  else
    redis.call('HSET', job_key(job.id), 's', pack(job))
  end
end

-- chain_of: the id of the job's chain. The first job of a chain stores no chain id.
local function chain_of(job)
  return job.chain or job.id
end

-- show: append a job to an answer as five values: id, state, input, output, error.
local function show(answer, id)
  local row = redis.call('HMGET', job_key(id), 's', 'i', 'o', 'e')
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4], answer[n + 5] = id, row[1], row[2], row[3], row[4]
end
