-- include: chain
-- include: find
-- include: recall
-- again: a start that is sent again. It made all of its chains the first time, or none; where it found some of them
-- instead, which ones is remembered.
-- made_before: what each job's chain is now, and the word for it ({ 'gone', made at, number } where it is deleted already).
-- Nil where nothing came of it the first time.
local function made_before(jobs)
  -- What is older than any request that is still sent was there before this one: it never arrived the first time.
  local recent = now - tonumber(ARGV[4]) * 1000
  local told, found, words, any, all = recall(), {}, {}, false, true
  for n, job in ipairs(jobs) do
    local other = told and told[n] ~= '' and told[n]
    local left = not other and not load(job.id) and redis.call('GET', prefix .. 'gone:' .. job.id)
    if left then
      local seq, created_at = string.match(left, '^(%d+) (%d+)')
      found[n], words[n] = job.id, { 'gone', created_at, seq }
    else
      found[n] = is_chain(other or job.id) and (other or job.id)
      local older = found[n] and load(found[n]).created_at <= recent
      words[n] = { (other or older) and 'found' or 'made before' }
    end
    any, all = any or found[n], all and found[n]
  end
  if not any then
    return nil
  end
  -- What it did not make then, it may make now, unless a key finds it.
  local fresh = all and {} or preview(jobs)
  for n in ipairs(jobs) do
    if not found[n] then
      found[n], words[n] = fresh[n], { 'found' }
    end
  end
  return found, words
end

-- remember_found: keep which chains a start found, for when it is sent again. Where it made none, and none has the id that
-- a start would have given it, there is nothing to mistake.
local function remember_found(jobs, found, made)
  local told, mistakable = {}, made > 0
  for n, job in ipairs(jobs) do
    told[n] = found[n] or ''
    mistakable = mistakable or found[n] == job.id
  end
  if mistakable then
    remember(told)
  end
end
