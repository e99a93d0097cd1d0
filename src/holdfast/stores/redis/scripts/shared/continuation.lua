-- include: create
-- continuation: the next job of a chain, and chains that are started by the same script.
-- refused_continuation: why a job cannot continue its chain together with these starts; nil if it can.
local function refused_continuation(job, starts, expected)
  if not job.after then
    return nil
  end
  need_blocking()
  -- For `refused_cycle`, which this file of `create` includes.
  need_replace()
  local started = {}
  for n, chain in ipairs(expected or {}) do
    started[chain] = starts[n].type
  end
  local refused = refused_blocker(job, started)
  if refused then
    return refused
  end
  -- First: a job that fails because of a chain that ended earlier in this script waits no longer.
  release_dependents()
  local found, beside = preview(starts), {}
  for n, start in ipairs(starts) do
    if not found[n] or start.replaces then
      beside[found[n] or start.id] = start.after or {}
    end
  end
  return refused_cycle(job.chain, job.after, beside)
end
