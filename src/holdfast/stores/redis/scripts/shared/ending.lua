-- include: ended
-- lazy: references
-- lazy: change
-- lazy: release
-- ending: at the end of a script, tell the jobs that wait for chains that ended in it.
local function anyone_waits()
  local keys = {}
  for n, entry in ipairs(ended) do
    keys[n * 2 - 1], keys[n * 2] = prefix .. 'd:' .. entry.chain, prefix .. 's:' .. entry.chain
  end
  return any_exists(keys)
end

-- release: tell those who wait for the chains that ended here, or leave all of them to the next who releases.
-- Answers 'more' where some remain to be told, else ''.
local function release(later)
  if not anyone_waits() then
    return ''
  end
  need_release()
  return tell_all(ended, later and 0 or TOLD_AT_ONCE)
end
