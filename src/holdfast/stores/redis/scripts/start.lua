-- start: create chains, in order, all or none; a job whose id or key finds a chain answers that chain instead.
-- include: single_start
-- include: create
-- include: start_answer
-- lazy: resent_start
local jobs = read_all_new(op)
local found, results
-- A start that replaces a chain creates no job that shows that it was written, so its reply is saved.
if resent or replacing(jobs) then
  need_resent_start()
  found, results = already_created(jobs)
end
found = found or preview(jobs)
local refused = refused_new(jobs, found)
if refused then
  return refused
end

local first_seq = last_seq + 1
local replaced = start_all(jobs, found)
-- A job that fails at once may start a hook, so the last number is not enough to count.
local created = 0
for n in ipairs(jobs) do
  created = created + (found[n] and 0 or 1)
end
local more = release_dependents()
finish()
if created < #jobs and not results then
  need_resent_start()
  save_found(jobs, found, created + replaced)
end

return start_answer(jobs, found, results, first_seq, more)
