-- start: create chains, in order, all or none; what a key or an id finds is answered instead.
-- include: create
-- lazy: chain
local jobs = read_all_new(op)
local found = preview(jobs)
local missing = absent_blocker(jobs, found)
if missing then
  return { 'ChainNotFound', missing }
end

local first_seq = last_seq + 1
start_all(jobs, found)
local more = release()
finish()

-- The caller knows what it sent: of new jobs it is told the time and the first one's number. Only where something else
-- came of one of them there is a word for each.
local answer = { 'ok', more, int(now), int(first_seq) }
local plain = last_seq == first_seq + #jobs - 1
for n, job in ipairs(jobs) do
  plain = plain and job.open_blockers == 0
end
if plain then
  return answer
end
need_chain()
for n, job in ipairs(jobs) do
  if resent and found[n] == job.id then
    -- The first time it was sent, it made the chain.
    answer[#answer + 1] = 'made before'
    show_chain(answer, job.id)
  elseif found[n] then
    answer[#answer + 1] = 'found'
    show_chain(answer, found[n])
  elseif job.failed then
    answer[#answer + 1] = 'failed'
    show_chain(answer, job.id)
  else
    answer[#answer + 1] = 'made'
    answer[#answer + 1] = int(job.open_blockers)
  end
end
return answer
