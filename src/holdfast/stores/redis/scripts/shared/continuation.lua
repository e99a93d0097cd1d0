-- include: create
-- include: dependency_cycle
-- continuation: the next job of a chain, and chains that are started by the same script.
-- refused_continuation: why a job cannot continue its chain together with these starts; nil if it can.
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
  -- First: a job that fails because of a chain that ended earlier in this script waits no longer.
  release_dependents()
  local found, beside = preview(starts), {}
  for n, start in ipairs(starts) do
    beside[start.id] = not found[n] and start.after or nil
  end
  return refused_cycle(job.chain, job.after, beside)
end
