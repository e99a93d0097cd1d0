-- frame: what every script is given, and numbers that lose no digit.
-- KEYS[1] is the namespace's root. Every other key is the root with something appended, so all share its hash tag.
-- KEYS[2] never exists. While a slot moves between two nodes of a cluster, a call that names a missing key beside
-- others is refused as a whole (ASK, then TRYAGAIN), so no script ever meets one half of its keys.
-- KEYS[3..] are the jobs that the caller knows it is about.
-- ARGV: the time in microseconds or '' for the server's, the command that publishes, this request's id (after a + where
-- it is sent again), for how many milliseconds that may happen, the operation, then the payloads that the operation names
-- by their number.
local root = KEYS[1]
local prefix = root .. ':'
local publish = ARGV[2]
-- Sent once more, since the first time there was no answer.
local resent = string.sub(ARGV[3], 1, 1) == '+'
local op = cmsgpack.unpack(ARGV[5])

local function payload(number)
  return number and ARGV[5 + number]
end

-- Without a format Lua writes 1.7632262561235e+15 for a time in microseconds.
local function int(number)
  return type(number) == 'string' and number or string.format('%.0f', number)
end

local function read_clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local now = ARGV[1] == '' and read_clock() or tonumber(ARGV[1])

-- Whole numbers up to here are exact in a double. Greater ones travel and are kept as text.
local EXACT = 9007199254740992

-- plus: the sum of two whole numbers, each a number or text, with all its digits.
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

-- due_at: when something is due that was asked for at a time, or after a delay. Past times are clamped to now.
local function due_at(at, delay)
  local due = at or plus(now, delay)
  return tonumber(due) > now and due or now
end
