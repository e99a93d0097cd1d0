-- steps: store and read the steps of jobs.

-- save_steps: store steps of running attempts, each if its claim is valid. Returns the states of the jobs.
-- key share: renewals continue, and every other change of the job waits until the steps are committed.
-- skip locked: a locked job is not waited for while others are locked. It is missing in the result.
-- A completed step, and a receive whose timeout ended, never change. A late checkpoint does not replace a newer one.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), asked as materialized (
    select *
      from unnest(:ids::text[], :tokens::text[], :names::text[], :eaches::text[], :kinds::text[], :numbers::int[],
                  :attempts::bigint[], :epochs::int[], :results::bytea[], :errors::bytea[], :durations::bigint[],
                  :done::boolean[])
           asked (id, token, name, each, kind, number, attempt, epoch, result, error, duration, done)
), held as materialized (
    select job.id, job.status, job.token
      from holdfast.job
     where job.id = any(:ids::text[])
     order by job.seq
       for key share skip locked
), saved as (
    insert into holdfast.step (job_id, name, each, kind, number, attempt, epoch, result, error, started_at, finished_at)
    select asked.id, asked.name, asked.each, asked.kind, asked.number, asked.attempt, asked.epoch, asked.result, asked.error,
           clock.now - asked.duration, case when asked.done then clock.now end
      from clock, asked join held on held.id = asked.id and held.token = asked.token
     where held.status = 'running'
        on conflict (job_id, name, each) do update
       set kind = excluded.kind, number = excluded.number, attempt = excluded.attempt, epoch = excluded.epoch,
           result = excluded.result, error = excluded.error, started_at = excluded.started_at,
           finished_at = excluded.finished_at, wake_at = excluded.wake_at
     where step.number <= excluded.number
       and (step.finished_at is null or step.error is not null and step.kind <> 'receive')
)
select held.id, held.status, held.token from held

-- save_steps_wait: wait for the lock of this job. No row if the job does not exist.
select job.seq from holdfast.job where job.id = :id::text for key share

-- get_steps: the steps of these jobs, in order.
select step.job_id, step.name, step.each, step.kind, step.number, step.attempt, step.epoch, step.result, step.error,
       step.started_at, step.finished_at, step.wake_at
  from holdfast.step
 where step.job_id = any(:ids::text[])
 order by step.job_id, step.number

-- end_sleeps: end the open sleeps of these locked pending jobs. Returns the jobs.
update holdfast.step set finished_at = :now::bigint
 where step.job_id = any(:ids::text[]) and step.kind = 'sleep' and step.finished_at is null
returning step.job_id

-- remove_steps: delete steps of a locked job by their numbers.
delete from holdfast.step where step.job_id = :id::text and step.number = any(:numbers::int[])

-- set_epoch: write the details of a locked job, which contain its new epoch.
update holdfast.job set details = :details::text where job.id = :id::text

-- details: the details of these jobs.
select job.id, job.details from holdfast.job where job.id = any(:ids::text[])
