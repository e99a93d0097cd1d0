-- origin: the job that started a chain. st:JOB holds the chains that a job started, by their number.
-- started_key: the set that contains a chain; nil if no job started it. Most details have no origin, and are not read.
local function started_key(first)
  if first.details and string.sub(first.details, 1, 11) == '{"origin":"' then
    -- pcall: an error after the first write would leave the script half done.
    local valid, details = pcall(cjson.decode, first.details)
    return valid and prefix .. 'st:' .. details.origin
  end
end

-- forget_origin: a chain is deleted, or another start replaces it.
local function forget_origin(first)
  local key = started_key(first)
  if key then
    redis.call('ZREM', key, first.id)
  end
end

local function remember_origin(first)
  local key = started_key(first)
  if key then
    redis.call('ZADD', key, int(first.seq), first.id)
  end
end
