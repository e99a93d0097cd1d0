-- include: arguments
-- workers: the rows of live workers. {name}:workers holds { started_at, draining, row } per id; {name}:seen orders the ids by
-- the time of their last report. The row is JSON that no script decodes.
local workers_key, seen_key = prefix .. 'workers', prefix .. 'seen'

-- load_worker: started_at, draining and row of a worker; nil if there is none.
local function load_worker(id)
  local stored = redis.call('HGET', workers_key, id)
  if stored then
    return cmsgpack.unpack(stored)
  end
end

local function save_worker(id, started_at, draining, row)
  redis.call('HSET', workers_key, id, cmsgpack.pack(started_at, draining, row))
end

local function delete_workers(ids)
  for _, id in ipairs(ids) do
    redis.call('HDEL', workers_key, id)
    redis.call('ZREM', seen_key, id)
  end
end
