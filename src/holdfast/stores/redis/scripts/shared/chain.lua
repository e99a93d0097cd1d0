-- include: job
-- chain: the jobs of a chain.
local function is_chain(id)
  local job = load(id)
  return job ~= nil and job.chain == nil
end

-- The first job has the chain's id; the list contains only the jobs after it.
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

-- show_chain: append a chain to an answer: its first job, then its last job, or false if both are the same.
local function show_chain(answer, chain)
  show(answer, chain)
  local last = last_id(chain)
  if last == chain then
    answer[#answer + 1] = false
  else
    show(answer, last)
  end
end
