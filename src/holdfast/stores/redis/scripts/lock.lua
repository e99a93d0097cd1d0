-- lock: the current job of a chain. Redis has no row locks: `complete` checks the job again when it writes.
-- flags: no-writes
-- include: chain
if not is_chain(op) then
  return { 'ChainNotFound', op }
end
local answer = { 'ok' }
show(answer, last_id(op))
return answer
