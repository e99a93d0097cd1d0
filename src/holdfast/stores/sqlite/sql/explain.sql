-- explain: one job, and what decides whether it is claimed. The conditions are those of claim.

-- explain_job: the job with this id or, with :current, the current job of the chain with this id; whether it is paused.
select record.*, record.type in (select paused.type from holdfast_paused paused)
  from holdfast_record record
 where record.seq = coalesce(
           (select job.seq from holdfast_job job
             where :current and job.chain_id = :id and job.chain_index > 0
             order by job.chain_index desc
             limit 1),
           (select job.seq from holdfast_job job where job.id = :id))

-- explain_earlier: count the jobs of one type and priority that are due earlier, up to a limit.
select count(*)
  from (select 1 from holdfast_job
         where status = 'pending' and type = :type and track_seq is null and priority = :priority and scheduled_at < :scheduled_at
         limit :limit)

-- explain_older: count the jobs of one type and priority that are due at the same time and were created before.
select count(*)
  from (select 1 from holdfast_job
         where status = 'pending' and type = :type and track_seq is null and priority = :priority and scheduled_at = :scheduled_at
           and seq < :seq
         limit :limit)

-- explain_next_priority: the lowest priority above this one that pending jobs of a type have.
select min(priority) from holdfast_job where status = 'pending' and type = :type and track_seq is null and priority > :priority

-- explain_blockers: the first blockers of a job that have not completed.
select chain_id, type, status
  from (select first.id as chain_id, first.type, blocker.position,
               coalesce((select last.status from holdfast_job last
                          where last.chain_id = first.id and last.chain_index > 0
                          order by last.chain_index desc limit 1),
                        first.status) as status
          from holdfast_blocker blocker
          cross join holdfast_job first on first.id = blocker.chain_id and first.chain_index = 0
         where blocker.job_id = :job_id)
 where status <> 'completed'
 order by position
 limit :limit
