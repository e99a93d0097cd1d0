-- include: chain
-- include: references
-- refused_cycle: the answer to a job of the chain `own` that would close a cycle if it waited for `after`, with the chains
-- of the cycle; nil if there is none. `beside` has the blockers of chains that begin to wait in this script.
-- One function for all of it: Lua lets a function refer to sixty variables outside of it, and every name here would count.
local function refused_cycle(own, after, beside)
  -- Chains that a walk looks at beyond those that a job names: as many as in `holdfast.core.dependencies`.
  local MOST_CHAINS = 1000
  local waiting, queue = {}, {}

  local function reach(chain, from)
    if not waiting[chain] then
      waiting[chain] = from
      queue[#queue + 1] = chain
    end
  end

  local function waits_for(chain)
    local last = not beside[chain] and last_of(chain)
    return beside[chain] or last and last.status == BLOCKED and blockers_of(last) or {}
  end

  -- From the last chain back to the first: each was reached from the one that waits for it.
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
  local most, n = #queue + MOST_CHAINS, 1
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
