-- include: hints
-- include: keyed
-- lazy: by_key
-- find: which of the jobs to be made are there already, by their id or by their key.
-- some_exist: whether any of these ids is taken. Nearly always none is.
local function some_exist(jobs)
  local keys = {}
  for n, job in ipairs(jobs) do
    keys[n] = job_key(job.id)
  end
  return any_exists(keys)
end

-- preview: for each job the chain it would find, in the store or made earlier in the same batch (`planned`); or false.
local function preview(jobs)
  local planned, same_key, found = {}, {}, {}
  local look_for_ids = #jobs > 0 and some_exist(jobs)
  for n, job in ipairs(jobs) do
    local existing = look_for_ids and load(job.id)
    local match = existing and chain_of(existing) or planned[job.id] and job.id
    if not match and job.key then
      need_by_key()
      local name = keyed(ALL, job)
      same_key[name] = same_key[name] or {}
      match = made_by_key(same_key[name], job) or by_key(job)
      if not match then
        table.insert(same_key[name], job)
      end
    end
    if not match then
      planned[job.id] = n
    end
    found[n] = match or false
  end
  return found, planned
end
