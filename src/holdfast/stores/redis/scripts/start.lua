-- start: create chains, in order, all or none; what a key or an id finds is answered instead.
-- include: create
local jobs = read_all_new(op)
local found = preview(jobs)
local missing = missing_blockers(jobs, found)
if missing then
  return { 'ChainNotFound', missing }
end

start_all(jobs, found)
finish()

-- The caller knows what it sent: of a new job it is told the state alone, unless that failed at once with a blocker.
local answer = { 'ok' }
for n, job in ipairs(jobs) do
  if resent and found[n] == job.id then
    -- The first time it was sent, it made the chain.
    answer[#answer + 1] = 'made before'
    show_chain(answer, job.id)
  elseif found[n] then
    answer[#answer + 1] = 'found'
    show_chain(answer, found[n])
  elseif loaded[job.id].status == FAILED then
    answer[#answer + 1] = 'failed'
    show_chain(answer, job.id)
  else
    answer[#answer + 1] = 'made'
    answer[#answer + 1] = loaded[job.id].state
  end
end
return answer
