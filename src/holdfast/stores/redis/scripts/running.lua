-- running: some of the running jobs of a type, or their chains, each after its number. Part of a listing.
-- flags: no-writes
-- include: index
-- include: chain
-- op: { type, cursor ('0' at first), whether to return chains }. The answer begins with the next cursor, '0' at the end. A
-- job that runs during the whole scan is found, maybe twice.
local found = redis.call('ZSCAN', running_key(op[1]), op[2], 'COUNT', 100)
local answer = { found[1] }
for n = 1, #found[2], 2 do
  local job = load(member_id(found[2][n]))
  local shown = job and op[3] and load(chain_of(job)) or job
  if shown then
    answer[#answer + 1] = int(shown.seq)
    answer[#answer + 1] = shown.id
  end
end
return answer
