-- include: create
-- include: cycle
-- continuing: the next job of a chain, beside chains that are started in the same step.
-- refused_continuation: why a job cannot continue its chain beside these starts; nil if it can.
local function refused_continuation(job, starts, expected)
  if not job.after then
    return nil
  end
  need_blocking()
  local started = {}
  for _, chain in ipairs(expected or {}) do
    started[chain] = true
  end
  local missing = missing_blocker(job, started)
  if missing then
    return { 'ChainNotFound', missing }
  end
  -- Jobs that fail with a chain which ended earlier in this script wait no longer.
  release()
  local found, beside = preview(starts), {}
  for n, start in ipairs(starts) do
    beside[start.id] = not found[n] and start.after or nil
  end
  return refused_cycle(job.chain, job.after, beside)
end
