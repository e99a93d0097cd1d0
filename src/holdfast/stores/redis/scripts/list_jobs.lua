-- list_jobs: those of the next rows, newest first, that a filter shows.
-- flags: no-writes
-- include: listing
return list(function(answer, job)
  if shown(job, job) then
    show(answer, job.id)
    return true
  end
end)
