-- include: chain
-- include: find
-- include: recall
-- include: gone
-- again: a start that is sent again. The first time it made all of its chains, or found some of them (which is then
-- remembered), or it never arrived.
-- A row tells who made it: under an id that the application chose, the request (`by`); an id that was generated is used
-- by one start alone.
local BY = 21

-- made_by: what came of a job under this id and by this request: the word for it, with { 'gone', made at, number }
-- where it is deleted already. Nil where this request did not make it. Others may have made one of that id since.
local function made_by(id, by)
  local row = load(id)
  if row and row.by == by then
    return { 'made before' }
  end
  for _, word in ipairs(words_of(id)) do
    if word[5] == (by or '') then
      return { 'gone', int(word[2]), int(word[1]) }
    end
  end
end

-- made_before: what each job's chain is now, and the word for it. Nil where nothing was made the first time.
local function made_before(jobs)
  local told, found, words, left, places, own = recall(), {}, {}, {}, {}, {}
  local arrived = told and true or false
  for n, job in ipairs(jobs) do
    -- The last value of the row as the caller wrote it.
    local word = made_by(job.id, (select(BY, cmsgpack.unpack(job.rest))))
    local there = told and told[n] ~= '' and is_chain(told[n]) and told[n]
    -- What was found under its own id may be gone, and what is there now made by this start when it was sent again.
    if there and (there ~= job.id or own[there] or not word) then
      found[n], word = there, { 'found' }
    elseif word then
      arrived, own[job.id], found[n] = true, true, job.id
    else
      left[#left + 1], places[#places + 1] = job, n
    end
    words[n] = word
  end
  if not arrived then
    return nil
  end
  -- What it did not make then, it may make now, unless there is one by now.
  local fresh = preview(left)
  for n, place in ipairs(places) do
    found[place], words[place] = fresh[n], { 'found' }
  end
  return found, words
end

-- remember_found: keep which chains a start found, for when it is sent again. Where it made none, it may as well look anew.
local function remember_found(jobs, found, made)
  local told = {}
  for n in ipairs(jobs) do
    told[n] = found[n] or ''
  end
  if made > 0 then
    remember(told)
  end
end
