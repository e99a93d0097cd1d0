-- include: change
-- include: chain
-- operate: checks for what an operator does to jobs by name, all or none.
-- wrong_job: why one of these jobs cannot be operated on; nil if all can.
local function wrong_job(ids, allowed)
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

-- show_jobs: the jobs as they are. Where this is sent again, one may be gone.
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
