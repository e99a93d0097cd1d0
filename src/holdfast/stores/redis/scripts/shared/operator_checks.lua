-- include: change
-- include: chain
-- include: saved_reply
-- operator_checks: checks for operations on jobs by id, which change all of them or none.
-- refused_job: why one of these jobs cannot be changed; nil if all can.
local function refused_job(ids, allowed)
  for _, id in ipairs(ids) do
    if not load(id) then
      return { 'JobNotFound', id }
    end
  end
  for _, id in ipairs(ids) do
    local job = load(id)
    if not allowed[job.status] then
      return { 'NotPending', id, job.status }
    end
  end
end

-- show_jobs: the current jobs. When the request is sent again, one may have been deleted.
local function show_jobs(ids)
  local answer = { 'ok' }
  for _, id in ipairs(ids) do
    if not load(id) then
      return { 'JobNotFound', id }
    end
    show(answer, id)
  end
  return answer
end

-- unchanged: the answer of a request that must change nothing: it is resent, refused, or only checks. Nil otherwise.
local function unchanged(ids, allowed, check_only)
  if saved_reply() then
    return show_jobs(ids)
  end
  return refused_job(ids, allowed) or check_only and { 'ok' } or nil
end
