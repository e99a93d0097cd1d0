-- get_blockers: the chains a job waits or waited for, in the order given when it was created.
-- flags: no-writes
-- include: references
-- include: chain
-- op: the job's id
local answer = {}
for _, chain in ipairs(blockers_of({ id = op })) do
  answer[#answer + 1] = 'found'
  show_chain(answer, chain)
end
return answer
