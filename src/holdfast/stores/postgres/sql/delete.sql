-- delete: delete these jobs, which are whole chains, and everything that belongs to them.
with deleted as (
    delete from holdfast.job where job.seq = any(:seqs::bigint[])
    returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker, job.status
), named as (
    delete from holdfast.blocker where blocker.job_id = any(array(select deleted.id from deleted))
), references_to as (
    delete from holdfast.blocker
     where blocker.chain_id = any(:chain_ids::text[]) and blocker.job_id <> all (array(select deleted.id from deleted))
), past as (
    delete from holdfast.attempt where attempt.job_id = any(array(select deleted.id from deleted))
), steps as (
    delete from holdfast.step where step.job_id = any(array(select deleted.id from deleted))
), messages as (
    delete from holdfast.message where message.chain_id = any(:chain_ids::text[])
)
select deleted.id, deleted.chain_id, deleted.type, deleted.attempt, deleted.worker, deleted.status from deleted order by deleted.seq

-- cascade: the chains that the jobs of these chains name as blockers, in order.
select job.chain_id, blocker.chain_id
  from holdfast.job
  join holdfast.blocker on blocker.job_id = job.id
 where job.id = any(:chain_ids::text[]) and job.chain_index = 0
    or job.chain_id = any(:chain_ids::text[]) and job.chain_index > 0
 order by job.chain_id, job.chain_index, blocker.position

-- chain_jobs: all jobs of these chains.
select job.seq, job.chain_id from holdfast.job where job.id = any(:chain_ids::text[]) and job.chain_index = 0
union all
select job.seq, job.chain_id from holdfast.job where job.chain_id = any(:chain_ids::text[]) and job.chain_index > 0

-- dependents: the jobs that name these chains as their blockers, and whether they are finished.
select distinct blocker.chain_id, job.id, job.chain_id, job.seq, job.status in ('completed', 'failed', 'cancelled')
  from holdfast.blocker
  join holdfast.job on job.id = blocker.job_id
 where blocker.chain_id = any(:chain_ids::text[])
 order by job.seq
