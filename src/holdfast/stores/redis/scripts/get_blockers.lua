-- get_blockers: some of the blockers of a job, in the order given when it was created.
-- flags: no-writes
-- include: references
-- include: chain
-- op: { job id, how many to skip, most }. The answer begins with 'more' if there are more after these.
local job, from, most = { id = op[1] }, op[2], op[3]
local answer = { redis.call('LLEN', references.blockers_key(job)) > from + most and 'more' or '' }
for _, chain in ipairs(references.blockers_of(job, from, from + most - 1)) do
  answer[#answer + 1] = 'found'
  show_chain(answer, chain)
end
return answer
