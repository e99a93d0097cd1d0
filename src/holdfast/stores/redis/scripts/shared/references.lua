-- include: index
-- references: which chains a job waits for, and which jobs wait for a chain.
-- a:JOB lists the chains that a job was given, each as number and id: one made anew under an old id is another chain.
-- d:CHAIN holds the unfinished jobs that were given a chain, s:CHAIN those that stopped while they still waited, both
-- by their number. A member is the job's id, and how many times it was given the chain if not once.
local function dependents_key(chain)
  return prefix .. 'd:' .. chain
end

local function stopped_key(chain)
  return prefix .. 's:' .. chain
end

local function given_key(job)
  return prefix .. 'a:' .. job.id
end

-- blockers_of: the chains a job was given, in order, without those that were deleted; all, or those at some places.
local function blockers_of(job, first_place, last_place)
  local chains = {}
  for _, member in ipairs(redis.call('LRANGE', given_key(job), first_place or 0, last_place or -1)) do
    local first = load(id_of(member))
    if first and ranked(first) == member then
      chains[#chains + 1] = first.id
    end
  end
  return chains
end

-- each_reference: call with every blocker and the member under which the job stands with it.
local function each_reference(job, chains, act)
  local times = {}
  for _, chain in ipairs(chains) do
    times[chain] = (times[chain] or 0) + 1
  end
  for chain, n in pairs(times) do
    act(chain, n == 1 and job.id or job.id .. '\0' .. n)
  end
end

-- read_member: the job, and how many times it was given the chain.
local function read_member(member)
  local id, times = string.match(member, '^([^%z]+)%z?(%d*)$')
  return load(id), tonumber(times) or 1
end

-- wait_for: have a job stand with its blockers, when it is made and when it begins anew.
local function wait_for(job, chains)
  each_reference(job, chains, function(chain, member)
    redis.call('ZADD', dependents_key(chain), job.seq, member)
    redis.call('ZREM', stopped_key(chain), member)
  end)
end

-- stop_waiting: a job finished. Where it still waited, its count goes on: it may begin anew.
local function stop_waiting(job)
  each_reference(job, blockers_of(job), function(chain, member)
    redis.call('ZREM', dependents_key(chain), member)
    if job.open_blockers > 0 then
      redis.call('ZADD', stopped_key(chain), job.seq, member)
    end
  end)
end

-- forget_waiting: a job is gone.
local function forget_waiting(job)
  each_reference(job, blockers_of(job), function(chain, member)
    redis.call('ZREM', dependents_key(chain), member)
    redis.call('ZREM', stopped_key(chain), member)
  end)
end
