-- include: hints
-- enter_pending: add a job to the sorted set of pending jobs of its type and priority.
local function enter_pending(job)
  local set = pending_set_name(job.type, job.priority)
  index_add(prefix .. 'q:' .. set, index_member(job), job.scheduled_at)
  pending_sets_used[set] = true
  due[job.type] = true
end
