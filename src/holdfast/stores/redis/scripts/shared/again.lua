-- include: chain
-- include: recall
-- again: a start that is sent again. It made all of its chains the first time, or none; where it found some of them
-- instead, which ones is remembered.
-- made_before: what each job's chain is now, and the word for it ({ 'gone', made at, number } where it is deleted already).
-- Nil where nothing came of it the first time.
local function made_before(jobs)
  local told, found, words, any = recall(), {}, {}, false
  for n, job in ipairs(jobs) do
    local other = told and told[n] ~= '' and told[n]
    local left = not other and not load(job.id) and redis.call('GET', prefix .. 'gone:' .. job.id)
    if left then
      local seq, created_at = string.match(left, '^(%d+) (%d+)')
      found[n], words[n] = job.id, { 'gone', created_at, seq }
    else
      found[n], words[n] = is_chain(other or job.id) and (other or job.id), { other and 'found' or 'made before' }
    end
    any = any or found[n]
  end
  if any then
    return found, words
  end
end
