-- get_jobs: the jobs with these ids.
select record.* from holdfast.record where record.id = any(:ids::text[])

-- get_blockers: the chains that a job names as its blockers, in order.
select first.*, last.*
  from holdfast.blocker
  join holdfast.record first on first.id = blocker.chain_id and first.chain_index = 0
  left join lateral (
    select tail.*
      from holdfast.record tail
     where tail.chain_id = first.id and tail.chain_index > 0
     order by tail.chain_index desc
     limit 1) last on true
 where blocker.job_id = :job_id::text
 order by blocker.position

-- get_history: the past attempts of a job, oldest first.
select attempt.number, attempt.worker, attempt.started_at, attempt.ended_at, attempt.outcome, attempt.error, attempt.next_at
  from holdfast.attempt
 where attempt.job_id = :job_id::text
 order by attempt.seq
