-- get_jobs: the jobs with these ids.
select record.* from holdfast.record where record.id = any(:ids::text[])

-- get_blockers: the chains that these jobs name as their blockers, in order, each with the id of the job.
select first.*, last.*, blocker.job_id
  from holdfast.blocker
  join holdfast.record first on first.id = blocker.chain_id and first.chain_index = 0
  left join lateral (
    select tail.*
      from holdfast.record tail
     where tail.chain_id = first.id and tail.chain_index > 0
     order by tail.chain_index desc
     limit 1) last on true
 where blocker.job_id = any(:job_ids::text[])
 order by blocker.job_id, blocker.position

-- get_history: the past attempts of a job, oldest first.
select attempt.number, attempt.worker, attempt.started_at, attempt.ended_at, attempt.outcome, attempt.error, attempt.next_at
  from holdfast.attempt
 where attempt.job_id = :job_id::text
 order by attempt.seq
