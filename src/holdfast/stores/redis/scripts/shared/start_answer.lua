-- include: create
-- lazy: chain
-- start_answer: the answer of a script that started jobs. `results` has other results than 'found' for existing chains.
-- The caller has the jobs that it sent, so the answer for new jobs is only the time and the number of the first. Other
-- results need one value or more per job.
local function start_answer(jobs, found, results, first_seq, more)
  local answer = { 'ok', more, int(now), int(first_seq) }
  local plain = true
  for n, job in ipairs(jobs) do
    plain = plain and not found[n] and job.open_blockers == 0 and not job.ended
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
    elseif job.ended then
      answer[#answer + 1] = 'ended'
      show_chain(answer, job.id)
    else
      answer[#answer + 1] = 'made'
      answer[#answer + 1] = int(job.open_blockers)
      answer[#answer + 1] = int(job.seq)
    end
  end
  return answer
end
