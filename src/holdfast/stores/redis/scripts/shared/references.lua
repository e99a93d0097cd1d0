-- include: index
-- references: the blockers of a job, and the dependents of a chain.
-- a:JOB lists the blockers of a job, each as number and id: a new chain under an old id is a different chain.
-- d:CHAIN holds the unfinished dependents of a chain, s:CHAIN the jobs that finished while the chain still blocked them,
-- both by their number. A member is the job's id, with a count if the job names the chain more than once.
local references = {}

function references.dependents_key(chain)
  return prefix .. 'd:' .. chain
end

function references.stopped_key(chain)
  return prefix .. 's:' .. chain
end

function references.blockers_key(job)
  return prefix .. 'a:' .. job.id
end

-- blockers_of: the blockers of a job, in order, without deleted chains; all of them, or a range of positions.
function references.blockers_of(job, first_place, last_place)
  local chains = {}
  for _, member in ipairs(redis.call('LRANGE', references.blockers_key(job), first_place or 0, last_place or -1)) do
    local first = load(member_id(member))
    if first and index_member(first) == member then
      chains[#chains + 1] = first.id
    end
  end
  return chains
end

-- named_chains: the ids of the blockers of a job, in order, deleted chains included.
function references.named_chains(job)
  local chains = redis.call('LRANGE', references.blockers_key(job), '0', '-1')
  for n, member in ipairs(chains) do
    chains[n] = member_id(member)
  end
  return chains
end

-- each_blocker: call `act` with every blocker and the job's member in its set of dependents.
local function each_blocker(job, chains, act)
  local times = {}
  for _, chain in ipairs(chains) do
    times[chain] = (times[chain] or 0) + 1
  end
  for chain, n in pairs(times) do
    act(chain, n == 1 and job.id or job.id .. '\0' .. n)
  end
end

-- read_member: the job of a member, and how many times it names the chain.
function references.read_member(member)
  local id_end = string.find(member, '\0', 1, true)
  if not id_end then
    return load(member), 1
  end
  return load(string.sub(member, 1, id_end - 1)), tonumber(string.sub(member, id_end + 1))
end

-- add_dependent: add a job to the dependents of its blockers, when it is created and when it is retried. `given` are the
-- members of the blockers of a new job.
function references.add_dependent(job, chains, given)
  write_some('RPUSH', references.blockers_key(job), given or {})
  each_blocker(job, chains, function(chain, member)
    redis.call('ZADD', references.dependents_key(chain), int(job.seq), member)
    if not given then
      redis.call('ZREM', references.stopped_key(chain), member)
    end
  end)
end

-- has_stopped: whether a job may be in s:CHAIN of one of the chains that this script releases.
references.has_stopped = false

-- remove_dependent: a job finished. If it was still blocked, its count is still updated: it may be retried.
-- The numbers of the chains are not compared: a new chain under the id of a deleted blocker does not have this member.
function references.remove_dependent(job)
  each_blocker(job, references.named_chains(job), function(chain, member)
    redis.call('ZREM', references.dependents_key(chain), member)
  end)
  if job.open_blockers > 0 then
    references.has_stopped = true
    each_blocker(job, references.blockers_of(job), function(chain, member)
      redis.call('ZADD', references.stopped_key(chain), int(job.seq), member)
    end)
  end
end

-- forget_dependent: a job is deleted, or takes other blockers.
function references.forget_dependent(job)
  each_blocker(job, references.blockers_of(job), function(chain, member)
    redis.call('ZREM', references.dependents_key(chain), member)
    redis.call('ZREM', references.stopped_key(chain), member)
  end)
  redis.call('DEL', references.blockers_key(job))
end
