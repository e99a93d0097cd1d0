-- guard: why a claim is no longer valid; false if it is valid.
-- flags: no-writes
-- include: change
-- op: { job id, token }
return lost_reason(load(op[1]), op[2]) or false
