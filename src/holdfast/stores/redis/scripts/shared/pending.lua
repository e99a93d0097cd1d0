-- include: hints
-- pending: jobs that stand in a line until they are due and claimed.
local function enter_pending(job)
  local line = line_name(job.type, job.priority)
  place(prefix .. 'q:' .. line, ranked(job), job.scheduled_at)
  lines_entered[line] = true
  due[job.type] = true
end
