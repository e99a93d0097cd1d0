-- include: arguments
-- audit: what operators changed, written by the script that makes the change. The entries are a sorted set by time. An
-- entry begins with its number, so that entries of one time are in order.
local audit_key = prefix .. 'audit'
local AUDIT_KEPT = 90 * 24 * 3600 * 1000000

-- write_audit: write an entry if the operation is an operator's; `by` is { user, reason or '' }, or nil if it is not.
local function write_audit(by, action, target, chain)
  if by then
    local number = redis.call('HINCRBY', root, 'audited', 1)
    local entry = cmsgpack.pack({ now, by[1], action, target, chain or '', by[2] })
    redis.call('ZADD', audit_key, int(now), struct.pack('>I8', number) .. entry)
  end
end

-- prune_audit: delete some old entries.
local function prune_audit()
  local old = redis.call('ZCOUNT', audit_key, '-inf', '(' .. int(now - AUDIT_KEPT))
  if old > 0 then
    redis.call('ZREMRANGEBYRANK', audit_key, 0, math.min(old, 1000) - 1)
  end
end
