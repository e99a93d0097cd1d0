-- report_worker: write or refresh the row of a worker; answers when it started, and whether it should stop.
-- flags: allow-oom
-- include: workers
-- op: { id, started_at (0 at the first report), draining, row, age at which rows are deleted }
-- The row of a later worker with the same id stays as it is. Nothing is published: a report must not wake any process.
redis.call('DEL', KEYS[2])
local id, started_at, draining, row = op[1], op[2], op[3], op[4]
delete_workers(redis.call('ZRANGEBYSCORE', seen_key, '-inf', '(' .. int(now - op[5]), 'LIMIT', 0, 100))
if started_at == 0 then
  started_at = now
end
local known, was_draining = load_worker(id)
if not known or known <= started_at then
  draining = draining or (known == started_at and was_draining)
  save_worker(id, started_at, draining, row)
  redis.call('ZADD', seen_key, int(now), id)
end
return { int(started_at), draining and 'draining' or '' }
