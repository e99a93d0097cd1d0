-- get_chains: the chains with these ids, in order.
-- flags: no-writes
-- include: chain
-- op: chain ids
local answer = {}
for _, chain in ipairs(op) do
  if is_chain(chain) then
    answer[#answer + 1] = 'found'
    show_chain(answer, chain)
  else
    answer[#answer + 1] = 'none'
  end
end
return answer
