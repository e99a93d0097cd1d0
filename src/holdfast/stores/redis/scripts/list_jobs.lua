-- list_jobs: the jobs among the next rows, newest first, that match a filter.
-- flags: no-writes
-- include: listing
return list(function(answer, job)
  if shown(job, job) then
    show(answer, job.id)
    return true
  end
end)
