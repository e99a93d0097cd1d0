-- guard: why a claim no longer holds; nothing while it does.
-- flags: no-writes
-- include: change
-- op: { job id, token }
return lost(load(op[1]), op[2]) or false
