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
  return #keys > 0 and redis.call('EXISTS', unpack(keys)) > 0
end

-- release: tell those who wait for the chains that ended here. Answers 'more' where some remain to be told, else ''.
local function release()
  if not anyone_waits() then
    return ''
  end
  need_release()
  return tell_all(ended, TOLD_AT_ONCE)
end

-- release_later: have all who wait for the chains that ended here told by the next who releases. Answers as `release`.
local function release_later()
  if not anyone_waits() then
    return ''
  end
  need_release()
  return tell_all(ended, 0)
end
