-- keep: keep finished chains for this long from now on, or forever; answers for each whether it was done.
-- flags: allow-oom
-- include: hints
-- include: chain
-- include: saved_reply
-- op: { chains, keep time or nil }
local before = saved_reply()
if before then
  return before
end
redis.call('DEL', KEYS[2])
local answer = {}
for n, chain in ipairs(op[1]) do
  local last = is_chain(chain) and last_of(chain)
  if not last or expired(last) then
    answer[n] = 'none'
  elseif not last.finished_at then
    answer[n] = 'unfinished'
  else
    last.keep = op[2] and plus(now - last.finished_at, op[2])
    save(last)
    index_add(prefix .. 'expiring', chain, last.keep and plus(last.finished_at, last.keep) or false)
    answer[n] = 'kept'
  end
end
finish()
return save_reply(answer)
