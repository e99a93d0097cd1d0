-- get_blockers: some of the blockers of a job, in the order given when it was created, without deleted chains.
-- flags: no-writes
-- include: references
-- include: chain
-- op: { job id, how many to skip, most }. The answer begins with the number of all blockers.
local key, from, most = references.blockers_key({ id = op[1] }), op[2], op[3]
local members, continued = redis.call('LRANGE', key, from, from + most - 1), {}
for n, member in ipairs(members) do
  continued[n] = prefix .. 'c:' .. member_id(member)
end
-- Usually each of the chains has one job. One command finds that out.
continued = any_exists(continued)
local answer = { redis.call('LLEN', key) }
for _, member in ipairs(members) do
  local id, n = member_id(member), #answer
  local row = redis.call('HMGET', job_key(id), 's', 'i', 'o', 'e')
  -- The number is the first value of the state. A chain under the id of a deleted one has another number.
  local _, seq = cmsgpack.unpack_one(row[1] or '\0')
  if struct.pack('>I8', seq) == string.sub(member, 1, 8) then
    answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4], answer[n + 5] = id, row[1], row[2], row[3], row[4]
    answer[n + 6] = false
    local last = continued and last_id(id) or id
    if last ~= id then
      answer[n + 6] = nil
      show(answer, last)
    end
  end
end
return answer
