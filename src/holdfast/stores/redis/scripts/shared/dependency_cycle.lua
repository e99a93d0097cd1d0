-- include: chain
-- include: references
-- refused_cycle: the error if a job of the chain `own` would close a cycle by waiting for `after`, with the chains of the
-- cycle; nil if there is none. `beside` has the blockers of chains that begin to wait in this script.
-- It is a single function because a Lua function may refer to at most sixty outer variables, and each name here counts.
local function refused_cycle(own, after, beside)
  -- Chains to visit beyond those that the job names: the same number as in `holdfast.core.waiting_cycles`.
  local MAX_CHAINS = 1000
  local waiting, queue = {}, {}

  local function reach(chain, from)
    if not waiting[chain] then
      waiting[chain] = from
      queue[#queue + 1] = chain
    end
  end

  local function waits_for(chain)
    local last = not beside[chain] and last_of(chain)
    return beside[chain] or last and last.status == BLOCKED and references.blockers_of(last) or {}
  end

  -- Go back from the last chain to the first: `waiting` maps each chain to the one from which it was reached.
  local function path(last)
    local cycle = {}
    while last ~= own do
      table.insert(cycle, 1, last)
      last = waiting[last]
    end
    return { 'DependencyCycle', own, unpack(cycle) }
  end

  for _, chain in ipairs(after) do
    if chain == own then
      return path(own)
    end
    reach(chain, own)
  end
  local most, n = #queue + MAX_CHAINS, 1
  while n <= #queue and n <= most do
    for _, blocker in ipairs(waits_for(queue[n])) do
      if blocker == own then
        return path(queue[n])
      end
      reach(blocker, queue[n])
    end
    n = n + 1
  end
end
