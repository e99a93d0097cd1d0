-- include: chain
-- include: find_existing
-- include: saved_reply
-- include: removed_jobs
-- resent_start: a start that is sent again. The first time it created all of its chains, or found some of them (then the
-- found ones are saved), or it never arrived.
-- The row of a job shows which request created it. For an id that the application chose, `by` is the request. A generated id is used
-- by one start only.
local BY = 21

-- created_by: the result for a job with this id that this request created; with { 'removed', created at, number } if it
-- is deleted already. Nil if this request did not create it. Another request may have created a job of that id since.
local function created_by(id, by)
  local row = load(id)
  if row and row.by == by then
    return { 'made before' }
  end
  for _, result in ipairs(removed_jobs(id)) do
    if result[5] == (by or '') then
      return { 'removed', int(result[2]), int(result[1]) }
    end
  end
end

-- already_created: the current chain of each job, and the result to report. Nil if the first request wrote nothing.
local function already_created(jobs)
  local found_before, found, results, missing, positions, own = saved_reply(), {}, {}, {}, {}, {}
  local arrived = found_before and true or false
  for n, job in ipairs(jobs) do
    -- The last value of the state as the caller encoded it is `by`.
    local result = created_by(job.id, (select(BY, cmsgpack.unpack(job.rest))))
    local existing = found_before and found_before[n] ~= '' and is_chain(found_before[n]) and found_before[n]
    -- A chain found under the job's own id may have been deleted, and an earlier resend may have created the current one.
    if existing and (existing ~= job.id or own[existing] or not result) then
      found[n], result = existing, { 'found' }
    elseif result then
      arrived, own[job.id], found[n] = true, true, job.id
    else
      missing[#missing + 1], positions[#positions + 1] = job, n
    end
    results[n] = result
  end
  if not arrived then
    return nil
  end
  -- Jobs that the first request did not create may be created now, unless a chain exists meanwhile.
  local fresh = preview(missing)
  for n, position in ipairs(positions) do
    found[position], results[position] = fresh[n], { 'found' }
  end
  return found, results
end

-- save_found: save which chains a start found, for a resend. A start that created nothing can search again instead.
local function save_found(jobs, found, made)
  local found_before = {}
  for n in ipairs(jobs) do
    found_before[n] = found[n] or ''
  end
  if made > 0 then
    save_reply(found_before)
  end
end
