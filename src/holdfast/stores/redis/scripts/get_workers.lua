-- get_workers: the live workers, four values each: started_at, seen_at, whether they should stop, and their row.
-- flags: no-writes
-- include: workers
-- op: { age from which a worker counts as gone, how many to skip, how many to return }
local answer = {}
local live = redis.call('ZRANGEBYSCORE', seen_key, int(now - op[1]), '+inf', 'WITHSCORES', 'LIMIT', op[2], op[3])
for n = 1, #live, 2 do
  local started_at, draining, row = load_worker(live[n])
  for _, value in ipairs({ int(started_at), live[n + 1], draining and 'draining' or '', row }) do
    answer[#answer + 1] = value
  end
end
return answer
