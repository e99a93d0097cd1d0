-- include: create
-- lazy: chain
-- lazy: resent_start
-- start_chains: start chains in order, all or none, and answer the result of each.
-- find_chains: the chain that each job finds, the results if the request is resent, and why the jobs are refused.
local function find_chains(jobs)
  local found, results
  -- A start that replaces a chain creates no job that shows that it was written, so its reply is saved.
  if resent or jobs.replacing then
    need_resent_start()
    found, results = already_created(jobs)
  end
  found = found or preview(jobs)
  return found, results, refused_new(jobs, found)
end

-- start_answer: the answer for jobs that were started. `results` has other results than 'found' for existing chains.
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

-- start_chains: create the jobs that found no chain, finish the script, and return its answer.
local function start_chains(jobs, found, results)
  local first_seq = last_seq + 1
  local created, replaced = start_all(jobs, found)
  local more = release_dependents()
  finish()
  if created < #jobs and not results then
    need_resent_start()
    save_found(jobs, found, created + replaced)
  end
  return start_answer(jobs, found, results, first_seq, more)
end
