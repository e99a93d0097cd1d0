-- include: job
-- chain: a chain's jobs.
local function is_chain(id)
  local job = load(id)
  return job ~= nil and job.chain == nil
end

-- The first job names the chain; only those that follow it are listed.
local function last_id(chain)
  return redis.call('LINDEX', prefix .. 'c:' .. chain, -1) or chain
end

local function last_of(chain)
  return load(last_id(chain))
end

-- expired: whether a chain with this last job is past its keep time, pruned or not.
local function expired(last)
  return last.finished_at and last.keep and tonumber(plus(last.finished_at, last.keep)) <= now
end

-- show_chain: append a chain to an answer: its first job, then its last, or one false where that is the same.
local function show_chain(answer, chain)
  show(answer, chain)
  local last = last_id(chain)
  if last == chain then
    answer[#answer + 1] = false
  else
    show(answer, last)
  end
end
