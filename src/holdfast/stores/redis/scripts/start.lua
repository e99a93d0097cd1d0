-- start: create chains, in order, all or none; what a key or an id finds is answered instead.
-- include: single
-- include: create
-- lazy: chain
-- lazy: again
local jobs = read_all_new(op)
local found, words
if resent then
  need_again()
  found, words = made_before(jobs)
end
found = found or preview(jobs)
local missing = absent_blocker(jobs, found)
if missing then
  return { 'ChainNotFound', missing }
end

local first_seq = last_seq + 1
start_all(jobs, found)
local made = last_seq - first_seq + 1
local more = release()
finish()
if made < #jobs and not words then
  need_again()
  remember_found(jobs, found, made)
end

-- The caller knows what it sent: of new jobs it is told the time and the first one's number. Only where something else
-- came of one of them there is a word for each.
local answer = { 'ok', more, int(now), int(first_seq) }
local plain = made == #jobs
for n, job in ipairs(jobs) do
  plain = plain and job.open_blockers == 0
end
if plain then
  return answer
end
need_chain()
for n, job in ipairs(jobs) do
  if found[n] then
    local word = words and words[n] or { 'found' }
    for _, value in ipairs(word) do
      answer[#answer + 1] = value
    end
    if word[1] ~= 'gone' then
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
