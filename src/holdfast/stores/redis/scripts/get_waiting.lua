-- get_waiting: some of the chains whose current job is blocked, with the blockers of this job, the oldest job first.
-- flags: no-writes
-- include: references
-- op: { number of the last job that was read, most jobs }. The answer has a row per job: its number, its chain, then its
-- blockers. The script ends after a thousand blockers, and the next call continues.
local MAX_NAMED = 1000

local answer, named = {}, 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', listed_jobs(BLOCKED), '(' .. int(op[1]), '+inf', 'LIMIT', 0, op[2])) do
  local job = load(id)
  local row = { int(job.seq), chain_of(job) }
  for _, chain in ipairs(references.blockers_of(job)) do
    row[#row + 1] = chain
  end
  answer[#answer + 1] = row
  named = named + #row
  if named > MAX_NAMED then
    break
  end
end
return answer
