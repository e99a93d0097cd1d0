-- list_chains: those chains among the next rows, newest first, that a filter shows.
-- flags: no-writes
-- include: listing
return list(function(answer, job)
  if not job.chain and shown(job, last_of(job.id)) then
    answer[#answer + 1] = 'found'
    show_chain(answer, job.id)
    return true
  end
end)
