-- dependents: some of the unfinished dependents of chains, as { chain, job, the job's chain }. Part of a long delete.
-- flags: no-writes
-- include: references
-- include: chain
-- op: { chains, number of the job after which to begin in the first chain, most }
-- The answer begins with where to continue: the position of a chain and the number of a job; '' and '' at the end.
local answer, left = { '', '' }, op[3]
for n, chain in ipairs(op[1]) do
  local after = n == 1 and op[2] or 0
  local rows = redis.call(
    'ZRANGEBYSCORE', references.dependents_key(chain), '(' .. int(after), '+inf', 'WITHSCORES', 'LIMIT', 0, left
  )
  for row = 1, #rows, 2 do
    local job = references.read_member(rows[row])
    answer[#answer + 1] = { chain, job.id, chain_of(job) }
    after, left = rows[row + 1], left - 1
  end
  if left == 0 then
    answer[1], answer[2] = int(n), after
    break
  end
end
return answer
