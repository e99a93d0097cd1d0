-- include: arguments
-- saved_reply: the saved reply of a request, for a resend. It is kept longer than any caller resends.
local request = resent and string.sub(ARGV[3], 2) or ARGV[3]
local reply_key = prefix .. 'answer:' .. request

-- Also read for requests that are not marked as resent: a delayed request can arrive after its own resend.
local function saved_reply()
  local answer = redis.call('GET', reply_key)
  return answer and cmsgpack.unpack(answer)
end

-- save_reply: save the reply, a list of strings, and return it.
local function save_reply(answer)
  redis.call('SET', reply_key, cmsgpack.pack(answer), 'PX', ARGV[4])
  return answer
end
