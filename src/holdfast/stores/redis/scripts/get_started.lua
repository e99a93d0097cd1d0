-- get_started: the ids of the chains that a job started, with their numbers, oldest first.
-- flags: no-writes
-- include: arguments
-- op: { job id, most }
return redis.call('ZRANGE', prefix .. 'st:' .. op[1], 0, op[2] - 1, 'WITHSCORES')
