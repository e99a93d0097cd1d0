-- get_waiting: some of the chains whose current job is blocked, and the chains that this job names, the oldest job first.
-- flags: no-writes
-- include: references
-- op: { the number of the last job that was read, most jobs }. The answer has a row for each: its number, its chain, then
-- the chains that it names. A script that has read a thousand of these leaves the other jobs to the next one.
local MOST_NAMED = 1000

local answer, named = {}, 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', listed_jobs(BLOCKED), '(' .. int(op[1]), '+inf', 'LIMIT', 0, op[2])) do
  local job = load(id)
  local row = { int(job.seq), chain_of(job) }
  for _, chain in ipairs(blockers_of(job)) do
    row[#row + 1] = chain
  end
  answer[#answer + 1] = row
  named = named + #row
  if named > MOST_NAMED then
    break
  end
end
return answer
