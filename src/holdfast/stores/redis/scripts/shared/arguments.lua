-- include: request
-- arguments: the payloads of a call, and exact integers.
local function payload(number)
  return number and ARGV[5 + number]
end

-- With a format: without one, Lua writes a time in microseconds as 1.7632262561235e+15. %d needs a third of the time of
-- %.0f, and of the %.17g with which the server converts a number that is passed to a command.
local function int(number)
  return type(number) == 'string' and number or string.format('%d', number)
end

-- Integers up to here are exact in a double. Greater ones are sent and stored as text.
local EXACT = 9007199254740992

-- plus: the exact sum of two integers, each a number or text.
local function plus(a, b)
  local sum = tonumber(a) + tonumber(b)
  if sum < EXACT then
    return sum
  end
  a, b = int(a), int(b)
  local low = tonumber(string.sub(a, -9)) + tonumber(string.sub(b, -9))
  local high = (tonumber(string.sub(a, 1, -10)) or 0) + (tonumber(string.sub(b, 1, -10)) or 0)
  if low >= 1000000000 then
    low, high = low - 1000000000, high + 1
  end
  return int(high) .. string.format('%09d', low)
end

-- due_at: the due time for a given time, or for a delay from now. A time in the past becomes now.
local function due_at(at, delay)
  local due = at or plus(now, delay)
  return tonumber(due) > now and due or now
end
