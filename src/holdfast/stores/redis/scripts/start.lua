-- start: create chains, in order, all or none; for a job whose id or key finds a chain, answer that chain instead.
-- include: single_start
-- include: start_chains
local jobs = read_all_new(op)
local found, results, refused = find_chains(jobs)
if refused then
  return refused
end
return start_chains(jobs, found, results)
