-- include: ended_chains
-- lazy: references
-- lazy: change
-- lazy: release_dependents
-- release_ended: at the end of a script, update the dependents of the chains that ended in it.
local function any_dependents()
  local keys = {}
  for n, entry in ipairs(ended) do
    keys[n * 2 - 1], keys[n * 2] = prefix .. 'd:' .. entry.chain, prefix .. 's:' .. entry.chain
  end
  return any_exists(keys)
end

-- release_dependents: update the dependents of the chains that ended here; with `later`, leave all to the next release.
-- Returns 'more' if some are left, else ''.
local function release_dependents(later)
  if not any_dependents() then
    return ''
  end
  need_release_dependents()
  return release_all(ended, later and 0 or RELEASED_AT_ONCE)
end
