-- drain_worker: ask a live worker to stop; answers whether there is one with this id.
-- flags: allow-oom
-- include: workers
-- include: audit
-- op: { id, age from which a worker counts as gone, { user, reason } or nil }
redis.call('DEL', KEYS[2])
local seen_at = redis.call('ZSCORE', seen_key, op[1])
if not seen_at or tonumber(seen_at) < now - op[2] then
  return ''
end
local started_at, draining, row = load_worker(op[1])
save_worker(op[1], started_at, true, row)
if not draining then
  write_audit(op[3], 'drain_worker', op[1])
end
redis.pcall(publish, prefix .. 'wake', cmsgpack.pack({ workers = { op[1] } }))
return 'found'
