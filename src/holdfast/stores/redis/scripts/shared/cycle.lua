-- include: chain
-- include: references
-- cycle: chains that would wait for each other.
-- Chains that a walk looks at beyond those that a job names: as many as in `holdfast.dependencies`.
local MOST_CHAINS = 1000

-- waits_for: the chains that a chain waits for. `beside` has the blockers of chains that begin to wait in this script.
local function waits_for(chain, beside)
  local last = not beside[chain] and last_of(chain)
  return beside[chain] or last and last.status == BLOCKED and blockers_of(last) or {}
end

local function path(own, last, waiting)
  local backwards, cycle = {}, { own }
  while last ~= own do
    backwards[#backwards + 1] = last
    last = waiting[last]
  end
  for n = #backwards, 1, -1 do
    cycle[#cycle + 1] = backwards[n]
  end
  return cycle
end

-- find_cycle: the chains of the cycle that a job of the chain `own` closes if it waits for `after`; nil if there is none.
local function find_cycle(own, after, beside)
  local waiting, queue = {}, {}
  local function reach(chain, from)
    if not waiting[chain] then
      waiting[chain] = from
      queue[#queue + 1] = chain
    end
  end
  for _, chain in ipairs(after) do
    if chain == own then
      return { own }
    end
    reach(chain, own)
  end
  local most, n = #queue + MOST_CHAINS, 1
  while n <= #queue and n <= most do
    for _, blocker in ipairs(waits_for(queue[n], beside)) do
      if blocker == own then
        return path(own, queue[n], waiting)
      end
      reach(blocker, queue[n])
    end
    n = n + 1
  end
end

-- refused_cycle: the same as a script's answer.
local function refused_cycle(own, after, beside)
  local cycle = find_cycle(own, after, beside)
  if cycle then
    table.insert(cycle, 1, 'DependencyCycle')
  end
  return cycle
end
