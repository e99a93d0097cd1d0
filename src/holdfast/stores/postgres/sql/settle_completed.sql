-- settle_completed: attempts completed their jobs, and their chains unless another job follows.
-- A job whose chain is waited for is left alone unless all are asked for: the jobs that wait go with it, by more steps.
-- skip locked: a job that somebody holds is not waited for while others are held; the answer leaves it out.
-- `good` is decided apart: in the update itself, the status would tempt the planner to the index of running jobs.
-- The worker stays, since no other row tells who did it; the token, so that a settlement sent again is known.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as anybody
), asked as materialized (
    select * from unnest(:ids::text[], :tokens::text[], :outputs::bytea[], :keeps::bigint[]) asked (id, token, output, keep)
), held as materialized (
    select job.seq, job.id, job.status, job.token, job.awaited, job.chain_id, job.type
      from holdfast.job
     where job.id = any(:ids::text[])
     order by job.seq
       for update skip locked
), good as materialized (
    select held.seq
      from held join asked on asked.id = held.id and asked.token = held.token
     where held.status = 'running' and (:all::boolean or not held.awaited)
), completed as (
    update holdfast.job
       set status = 'completed', output = asked.output, error = null, leased_until = null, renewed_at = null,
           mismatches = null, mismatched_at = null,
           finished_at = clock.now, keep = coalesce(asked.keep, job.keep),
           expires_at = case when :ends::boolean then clock.now + coalesce(asked.keep, job.keep) end
      from asked, clock
     where job.seq = any(array(select good.seq from good)) and asked.id = job.id
    returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
    select clock.now, 'completed', completed.id, completed.chain_id, completed.type, completed.attempt, completed.worker
      from completed, clock, listening
     where listening.anybody
     order by completed.seq
)
select held.id, held.status, held.token, held.awaited, held.chain_id, held.type, listening.anybody
  from held cross join listening
