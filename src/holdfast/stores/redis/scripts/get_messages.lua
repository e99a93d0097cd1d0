-- get_messages: the values of messages; false for one that was not sent.
-- flags: no-writes
-- include: steps
-- op: a list of { chain, name }
local answer = {}
for n, wanted in ipairs(op) do
  answer[n] = redis.call('HGET', steps.messages(wanted[1]), 'v' .. wanted[2])
end
return answer
