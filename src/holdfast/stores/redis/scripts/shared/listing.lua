-- include: chain
-- include: index
-- listing: a window of the rows, newest first, and the rows in it that match a filter.
-- op: { filter, limit, before or nil, rows to read, ids to read or nil }
-- filter: { statuses, scheduled, types, chain, key, created since, created until, within the keep time, failing, types of
-- the first job, failed since, finished since, worker, { text in the error, replacements }, fingerprint }
local wanted, limit = op[1], op[2]

local function set(list)
  local members = {}
  for _, member in ipairs(list) do
    members[member] = true
  end
  return #list > 0 and members
end

local statuses, types, chain_types = set(wanted[1]), set(wanted[3]), set(wanted[10])
local scheduled, chain_wanted, key, since, until_ = wanted[2], wanted[4], wanted[5], wanted[6], wanted[7]
local kept, failing, failed_since, finished_since = wanted[8], wanted[9], wanted[11], wanted[12]
local worker, error_search, fingerprint = wanted[13], wanted[14], wanted[15]

-- is_failing: whether a job waits for another attempt after one that failed or was lost.
local function is_failing(job)
  return job.status == PENDING and job.attempt > 0 and redis.call('HEXISTS', job_key(job.id), 'e') == 1
end

local function ended_since(job, time)
  return job.finished_at and job.finished_at >= tonumber(time)
end

-- replace_all: a text with every occurrence of one part replaced. A part is not a pattern.
local function replace_all(text, part, by)
  local parts, from = {}, 1
  local first, last = string.find(text, part, from, true)
  while first do
    parts[#parts + 1] = string.sub(text, from, first - 1) .. by
    from = last + 1
    first, last = string.find(text, part, from, true)
  end
  return table.concat(parts) .. string.sub(text, from)
end

-- error_contains: whether the line `Type: message` of a job's error contains the text, as `core/error_search` defines it.
local function error_contains(job)
  local stored = redis.call('HGET', job_key(job.id), 'e')
  local readable, error = pcall(cjson.decode, stored or '')
  if not readable or type(error) ~= 'table' or type(error[1]) ~= 'string' or type(error[2]) ~= 'string' then
    return false
  end
  local text = string.lower(error[2] == '' and error[1] or error[1] .. ': ' .. error[2])
  for _, pair in ipairs(error_search[2]) do
    text = replace_all(text, pair[1], pair[2])
  end
  return string.find(text, error_search[1], 1, true) ~= nil
end

local function shown(first, last)
  return (not statuses or statuses[last.status])
    and (not scheduled or (last.status == PENDING and tonumber(last.scheduled_at) > now))
    and (failing == nil or is_failing(last) == failing)
    and (not fingerprint or last.status == FAILED and redis.call('HGET', job_key(last.id), 'f') == fingerprint)
    and (not types or types[last.type])
    and (not chain_types or chain_types[first.type])
    and (not chain_wanted or chain_of(first) == chain_wanted)
    and (not key or first.key == key)
    and (not since or first.created_at >= tonumber(since))
    and (not until_ or first.created_at < tonumber(until_))
    and (not failed_since or (last.status == FAILED and ended_since(last, failed_since)))
    and (not finished_since or ended_since(last, finished_since))
    and (not worker or last.worker == worker)
    and (not error_search or error_contains(last))
end

-- rejected: whether a row certainly does not match, and its number.
-- It reads the first values of the state only: most rows do not match, and a table of all values takes longer.
local function rejected(id, state, of_chains)
  local _, seq, created_at, _, status, _, type, chain, _, _, _, _, _, its_worker = cmsgpack.unpack_limit(state, 13)
  if of_chains and chain or since and created_at < tonumber(since) or until_ and created_at >= tonumber(until_) then
    return true, seq
  end
  -- The first job of a chain is also its last one, unless others follow. They follow completed jobs only.
  if of_chains and status == COMPLETED and redis.call('EXISTS', prefix .. 'c:' .. id) == 1 then
    return false, seq
  end
  local other = statuses and not statuses[status] or types and not types[type] or worker and its_worker ~= worker
  return other or error_search and redis.call('HEXISTS', job_key(id), 'e') == 0, seq
end

-- older_in_chain: the number of jobs after a chain's first with a lower number. The list is in the order of the numbers.
local function older_in_chain(key, seq)
  local low, high = 0, redis.call('LLEN', key)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if load(redis.call('LINDEX', key, middle)).seq < seq then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

-- window_of_chain: the next ids of one chain to read. The list does not contain the first job of the chain.
local function window_of_chain(of_chains)
  local key = prefix .. 'c:' .. chain_wanted
  if not is_chain(chain_wanted) or (op[3] and load(chain_wanted).seq >= op[3]) then
    return {}
  elseif of_chains then
    return { chain_wanted }
  end
  local older = op[3] and older_in_chain(key, op[3]) or redis.call('LLEN', key)
  local ids = older > 0 and redis.call('LRANGE', key, math.max(0, older - op[4]), older - 1) or {}
  local newest_first = {}
  for n = #ids, 1, -1 do
    newest_first[#newest_first + 1] = ids[n]
  end
  if #newest_first < op[4] then
    newest_first[#newest_first + 1] = chain_wanted
  end
  return newest_first
end

-- window: the next ids to read.
local function window(of_chains)
  if op[5] then
    return op[5]
  elseif chain_wanted then
    return window_of_chain(of_chains)
  end
  local below = op[3] and '(' .. int(op[3]) or '+inf'
  local index = all_key
  if of_chains and key and #wanted[10] == 1 then
    index = key_set('all', { type = wanted[10][1], key = key })
  elseif fingerprint then
    index = prefix .. (of_chains and 'gc:' or 'gj:') .. fingerprint
  elseif #wanted[1] == 1 and LISTED[wanted[1][1]] then
    index = of_chains and listed_chains(wanted[1][1]) or listed_jobs(wanted[1][1])
  end
  return redis.call('ZREVRANGEBYSCORE', index, below, '-inf', 'LIMIT', 0, op[4])
end

-- list: filter a window. The answer begins with the number below which to continue, or '' after the last row.
local function list(consider, of_chains)
  local answer = { '' }
  local ids, matches = window(of_chains), 0
  for n, id in ipairs(ids) do
    -- false: a job that the caller named was deleted meanwhile.
    local state = redis.call('HGET', job_key(id), 's')
    if state then
      local no, seq = rejected(id, state, of_chains)
      if not no and consider(answer, load(id)) then
        matches = matches + 1
      end
      if matches >= limit or (n == #ids and #ids == op[4]) then
        answer[1] = int(seq)
        break
      end
    end
  end
  return answer
end
