-- retry: return a failed or cancelled job to pending or blocked, with all its attempts.
update holdfast_job
   set track = track, status = :status, open_blockers = :open_blockers, details = :details, attempt = 0, scheduled_at = :now, finished_at = null, expires_at = null, token = null
 where seq = :seq and status in ('failed', 'cancelled')

-- retry_open_blockers: the number of blockers of a job that exist and are not completed.
select count(*)
  from holdfast_blocker blocker
  join holdfast_job first on first.id = blocker.chain_id and first.chain_index = 0
 where blocker.job_id = :job_id
   and coalesce((select last.status from holdfast_job last
                  where last.chain_id = first.id and last.chain_index > 0
                  order by last.chain_index desc limit 1),
                first.status) <> 'completed'
