-- request: the keys and arguments of every script, and the current time. No functions: a single start ends before it
-- needs any.
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
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000000 + tonumber(time[2])
end
