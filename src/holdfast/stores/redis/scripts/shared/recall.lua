-- include: frame
-- recall: the answer of a request that was written but whose answer was lost. Kept for longer than anyone goes on sending.
local request = resent and string.sub(ARGV[3], 2) or ARGV[3]
local recall_key = prefix .. 'answer:' .. request

-- Also asked for what is not sent again: a request that was held up on its way may come after its own repetition.
local function recall()
  local answer = redis.call('GET', recall_key)
  return answer and cmsgpack.unpack(answer)
end

-- remember: keep the answer (a list of strings) and give it.
local function remember(answer)
  redis.call('SET', recall_key, cmsgpack.pack(answer), 'PX', ARGV[4])
  return answer
end
