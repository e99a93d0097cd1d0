-- lock: the chain's current job. There are no locks here: what is read is checked again when it is written.
-- flags: no-writes
-- include: chain
if not is_chain(op) then
  return { 'ChainNotFound', op }
end
local answer = { 'ok' }
show(answer, last_id(op))
return answer
