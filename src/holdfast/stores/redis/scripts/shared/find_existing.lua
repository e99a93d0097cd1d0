-- include: hints
-- include: index
-- lazy: find_by_key
-- find_existing: which of the jobs to create exist already, by their id or by their key.
-- any_id_exists: whether any of these ids exists. Usually none does.
local function any_id_exists(jobs)
  local keys = {}
  for n, job in ipairs(jobs) do
    keys[n] = job_key(job.id)
  end
  return any_exists(keys)
end

-- preview: for each job the chain it finds, in the store or earlier in the same batch (`planned`); or false.
local function preview(jobs)
  local planned, same_key, found = {}, {}, {}
  local look_for_ids = #jobs > 0 and any_id_exists(jobs)
  for n, job in ipairs(jobs) do
    local existing = look_for_ids and load(job.id)
    local match = existing and chain_of(existing) or planned[job.id] and job.id
    if not match and job.key then
      need_find_by_key()
      local name = key_set('all', job)
      same_key[name] = same_key[name] or {}
      match = planned_by_key(same_key[name], job) or find_by_key(job)
      job.replaces = match and job.scope == 'waiting'
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
