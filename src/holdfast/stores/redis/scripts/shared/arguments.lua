-- arguments: the keys and arguments of every script, the current time, and exact integers.
-- KEYS[1] is the root of the namespace. Every other key is the root with a suffix, so all have the same hash tag.
-- KEYS[2] never exists. While a slot moves between two nodes of a cluster, the server rejects a call that names a missing
-- key besides existing ones (ASK, then TRYAGAIN). So no script runs with only some of its keys present.
-- KEYS[3..] are the jobs that the caller names.
-- ARGV: 1 the time in microseconds, or '' for the server's clock; 2 the command that publishes; 3 the id of the request,
-- after a '+' if it is sent again; 4 for how many milliseconds it may be sent again; 5 the operation; then the payloads,
-- which the operation refers to by their number.
local root = KEYS[1]
local prefix = root .. ':'
local publish = ARGV[2]
-- The request was sent before, and the caller got no reply.
local resent = string.sub(ARGV[3], 1, 1) == '+'
local op = cmsgpack.unpack(ARGV[5])

local function payload(number)
  return number and ARGV[5 + number]
end

-- With a format: without one, Lua writes a time in microseconds as 1.7632262561235e+15.
local function int(number)
  return type(number) == 'string' and number or string.format('%.0f', number)
end

local function read_clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local now = ARGV[1] == '' and read_clock() or tonumber(ARGV[1])

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
  return int(high) .. string.format('%09.0f', low)
end

-- due_at: the due time for a given time, or for a delay from now. A time in the past becomes now.
local function due_at(at, delay)
  local due = at or plus(now, delay)
  return tonumber(due) > now and due or now
end
