-- get_audit: some of the newest entries of the audit, newest first.
-- flags: no-writes
-- include: audit
-- op: { how many were read before, how many to read, since or nil, targets and chains or nil }. The answer begins with
-- whether there may be more.
local since, about = math.max(tonumber(op[3] or 0), now - AUDIT_KEPT), nil
if op[4] then
  about = {}
  for _, id in ipairs(op[4]) do
    about[id] = true
  end
end
local entries = redis.call('ZREVRANGE', audit_key, op[1], op[1] + op[2] - 1)
local answer = { #entries == op[2] and 'more' or '' }
for _, entry in ipairs(entries) do
  local facts = string.sub(entry, 9)
  local row = cmsgpack.unpack(facts)
  if row[1] < since then
    answer[1] = ''
    break
  end
  if not about or about[row[4]] or about[row[5]] then
    answer[#answer + 1] = entry
  end
end
return answer
