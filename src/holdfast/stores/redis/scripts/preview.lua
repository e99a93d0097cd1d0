-- preview: the chains that a start would find instead of creating them; or the number of an earlier job of the batch.
-- flags: no-writes
-- include: create
-- include: chain
local jobs = read_all_new(op)
local found, planned = preview(jobs)
local answer = { 'ok' }
for n in ipairs(jobs) do
  if not found[n] then
    answer[#answer + 1] = 'made'
  elseif planned[found[n]] then
    answer[#answer + 1] = 'planned'
    answer[#answer + 1] = int(planned[found[n]])
  else
    answer[#answer + 1] = 'found'
    show_chain(answer, found[n])
  end
end
return answer
