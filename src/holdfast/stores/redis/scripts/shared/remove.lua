-- include: chain
-- remove: forget a chain and all that belongs to its jobs.
local function job_ids(chain)
  local ids = redis.call('LRANGE', prefix .. 'c:' .. chain, 0, -1)
  table.insert(ids, 1, chain)
  return ids
end

-- waiting: unfinished jobs that refer to a chain as their blocker, outside the given chains.
local function waiting(chain, besides)
  local ids, seen = {}, {}
  for _, id in ipairs(redis.call('LRANGE', prefix .. 'd:' .. chain, 0, -1)) do
    local job = load(id)
    if not seen[id] and not FINISHED[job.status] and not besides[chain_of(job)] then
      ids[#ids + 1] = id
    end
    seen[id] = true
  end
  return ids
end

local function remove_job(job)
  leave(job)
  displace(all_key, job.id)
  if job.status == RUNNING then
    lost_claims[job.id] = true
  end
  for _, blocker in ipairs(redis.call('LRANGE', prefix .. 'a:' .. job.id, 0, -1)) do
    redis.call('LREM', prefix .. 'd:' .. blocker, 1, job.id)
  end
  redis.call('DEL', job_key(job.id), prefix .. 'a:' .. job.id, prefix .. 'h:' .. job.id)
  note(job, 'deleted')
  loaded[job.id] = false
end

local function remove_chain(chain)
  local ids, first = job_ids(chain), load(chain)
  if first.key then
    redis.call('ZREM', keyed(first.type, first.key), chain)
    redis.call('ZREM', keyed_open(first.type, first.key), chain)
  end
  for _, id in ipairs(ids) do
    remove_job(load(id))
  end
  for _, id in ipairs(redis.call('LRANGE', prefix .. 'd:' .. chain, 0, -1)) do
    redis.call('LREM', prefix .. 'a:' .. id, 0, chain)
  end
  redis.call('DEL', prefix .. 'c:' .. chain, prefix .. 'd:' .. chain)
  finished[chain] = true
end
