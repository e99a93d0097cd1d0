-- progress: write the progress of an attempt. Returns the state of the job.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), progressed as (
    update holdfast.job
       set progress = :fraction::float8, progress_note = :note::text
     where job.id = :id::text and job.status || '' = 'running' and job.token = :token::text
    returning job.id, job.chain_id, job.type, job.attempt, job.worker
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
    select clock.now, 'progressed', progressed.* from progressed, clock, listening where listening.present
)
select job.status, job.token, listening.present and exists (select 1 from progressed)
  from holdfast.job, listening
 where job.id = :id::text
