-- list_chains: the chains among the next rows, newest first, that match a filter.
-- flags: no-writes
-- include: listing
return list(function(answer, job)
  local last = not job.chain and last_of(job.id)
  if last and shown(job, last) and not (kept and expired(last)) then
    answer[#answer + 1] = 'found'
    show_chain(answer, job.id)
    return true
  end
end, true)
