-- start: create chains, in order, all or none; a job whose id or key finds a chain answers that chain instead.
-- include: single_start
-- include: create
-- lazy: chain
-- lazy: resent_start
local jobs = read_all_new(op)
local found, results
if resent then
  need_resent_start()
  found, results = already_created(jobs)
end
found = found or preview(jobs)
local missing = absent_blocker(jobs, found)
if missing then
  return { 'ChainNotFound', missing }
end

local first_seq = last_seq + 1
start_all(jobs, found)
local created = last_seq - first_seq + 1
local more = release_dependents()
finish()
if created < #jobs and not results then
  need_resent_start()
  save_found(jobs, found, created)
end

-- The caller has the jobs that it sent, so the answer for new jobs is only the time and the number of the first. Other
-- results need one value or more per job.
local answer = { 'ok', more, int(now), int(first_seq) }
local plain = created == #jobs
for n, job in ipairs(jobs) do
  plain = plain and job.open_blockers == 0
end
if plain then
  return answer
end
need_chain()
for n, job in ipairs(jobs) do
  if found[n] then
    local result = results and results[n] or { 'found' }
    for _, value in ipairs(result) do
      answer[#answer + 1] = value
    end
    if result[1] ~= 'removed' then
      show_chain(answer, found[n])
    end
  elseif job.failed then
    answer[#answer + 1] = 'failed'
    show_chain(answer, job.id)
  else
    answer[#answer + 1] = 'made'
    answer[#answer + 1] = int(job.open_blockers)
  end
end
return answer
