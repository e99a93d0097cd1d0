-- include: hints
-- enter_pending: add a job to the sorted set of pending jobs of its type and priority.
-- Most jobs of a script enter the same set, so its name is made once.
local entered = {}
local function enter_pending(job)
  if job.type ~= entered.type or job.priority ~= entered.priority then
    local set = pending_set_name(job.type, job.priority)
    entered = { type = job.type, priority = job.priority, key = prefix .. 'q:' .. set }
    pending_sets_used[set] = true
    due[job.type] = true
  end
  index_add(entered.key, index_member(job), job.scheduled_at)
end
