-- save_steps: store steps of running attempts, each under its claim.
-- flags: allow-oom
-- include: change
-- include: steps
-- include: saved_reply
-- op: a list of { job id, token, name, each, kind, number, attempt, epoch, result, error, duration, done }. The answer: why each
-- claim is lost, or ''. A completed step, and a receive whose timeout ended, never change. A checkpoint that arrives late
-- replaces no newer one. The timeout of a receive is not stored if the message has its value.
local before = saved_reply()
if before then
  return before
end
redis.call('DEL', KEYS[2])

local answer, open = {}, false
for n, given in ipairs(op) do
  local id, kind = given[1], given[5]
  local job = load(id)
  local reason = lost_reason(job, given[2])
  answer[n] = reason or ''
  local arrived = not reason and kind == 'receive' and given[10]
    and redis.call('HEXISTS', steps.messages(chain_of(job)), 'v' .. given[3]) == 1
  if not reason and not arrived then
    local key, field = steps.key(id), steps.field(given[3], given[4])
    local stored = redis.call('HGET', key, field)
    local facts = stored and steps.read(stored)
    local final = facts and facts[8] and (facts[10] ~= 'e' or facts[3] == 'receive')
    if not facts or not (final or facts[4] > given[6]) then
      local bytes = payload(given[9]) or payload(given[10])
      local has = given[9] and 'r' or given[10] and 'e' or nil
      local row = {
        given[3], given[4], kind, given[6], given[7], given[8], now - given[11], given[12] and now or nil, nil, has,
      }
      redis.call('HSET', key, field, steps.pack(row, bytes))
      open = open or not given[12]
    end
  end
end
-- An older position of a cursor that is sent again must not replace a newer one. Other steps are written once.
return open and save_reply(answer) or answer
