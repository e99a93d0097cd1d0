-- include: job
-- removed_jobs: records of removed jobs, so that a resent start or settlement finds its result.
-- Per id, { number, created at, status, token, by } of each job that had it, newest first. An application may reuse an
-- id. Only the last ten within a minute are kept.
local MAX_REMOVALS = 10

local function removed_jobs(id)
  local removals = redis.call('GET', prefix .. 'gone:' .. id)
  return removals and cmsgpack.unpack(removals) or {}
end

local function record_removal(job)
  local recent = now - tonumber(ARGV[4]) * 1000
  local made = not job.chain and job.created_at > recent
  local settled = job.token and job.finished_at and job.finished_at > recent
  if made or settled then
    local removals = removed_jobs(job.id)
    table.insert(removals, 1, { job.seq, job.created_at, job.status, job.token or '', job.by or '' })
    removals[MAX_REMOVALS + 1] = nil
    redis.call('SET', prefix .. 'gone:' .. job.id, cmsgpack.pack(removals), 'PX', ARGV[4])
  end
end
