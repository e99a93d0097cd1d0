-- skip: let failed jobs hold their orders no longer, all or none.
-- flags: allow-oom
-- include: operator_checks
-- include: audit
-- op: { job ids, whether to check only, { user, reason } or nil }
local ids = op[1]
local answer = unchanged(ids, { [FAILED] = true }, op[2])
if answer then
  return answer
end
redis.call('DEL', KEYS[2])
for _, id in ipairs(ids) do
  local job = load(id)
  if has_lanes(job) then
    need_lanes()
    if lanes.removed(job) then
      write_audit(op[3], 'skip', id, chain_of(job))
    end
  end
end
save_reply(ids)
finish()
return show_jobs(ids)
