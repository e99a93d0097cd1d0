-- delete: delete chains, running ones too, with `cascade` also their blockers; all or none.
-- flags: allow-oom
-- include: remove
-- include: saved_reply
-- include: audit
-- op: { chains, cascade, most, { user, reason } or nil }. With more jobs or dependents than `most`, or with dependents that are still to be
-- released, the answer is `many` and nothing is deleted. The caller then deletes in several calls.
local before = saved_reply()
if before then
  return before
end

local most = op[3]
local to_delete, marked, jobs, releasing_now = {}, {}, 0, false
local function mark(chain)
  if not marked[chain] and is_chain(chain) then
    marked[chain] = true
    jobs = jobs + length(chain)
    releasing_now = releasing_now or releasing(chain)
    to_delete[#to_delete + 1] = chain
  end
end
for _, chain in ipairs(op[1]) do
  mark(chain)
end
local n = 1
while op[2] and n <= #to_delete and jobs <= most do
  for _, id in ipairs(job_ids(to_delete[n])) do
    for _, blocker in ipairs(load(id).blockers > 0 and references.blockers_of(load(id)) or {}) do
      mark(blocker)
    end
  end
  n = n + 1
end

if jobs > most or releasing_now then
  return { 'many' }
end

local dependents = 0
local refused = { 'StillReferenced' }
for _, chain in ipairs(to_delete) do
  for _, member in ipairs(redis.call('ZRANGE', references.dependents_key(chain), 0, most)) do
    local job = references.read_member(member)
    dependents = dependents + 1
    if not marked[chain_of(job)] then
      refused[#refused + 1] = chain
      refused[#refused + 1] = job.id
    end
  end
  if dependents > most then
    return { 'many' }
  end
end
if #refused > 1 then
  return refused
end

redis.call('DEL', KEYS[2])
for _, chain in ipairs(to_delete) do
  remove_chain(chain)
  write_audit(op[4], 'delete', chain, chain)
end
finish()
table.insert(to_delete, 1, 'ok')
return #to_delete > 1 and save_reply(to_delete) or to_delete
