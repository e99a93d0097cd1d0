-- complete: complete a locked job from outside. The chain ends too, unless another job follows.
-- admission: the key that admits one completion of the chain at a time. It stays locked until the transaction ends.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
with past as (
    insert into holdfast.attempt (job_id, number, worker, started_at, ended_at, outcome)
    select job.id, job.attempt, job.worker, job.started_at, :now::bigint, 'lost'
      from holdfast.job
     where job.seq = :seq::bigint and job.status || '' = 'running'
), completed as (
    update holdfast.job
       set status = 'completed', output = :output::bytea, error = null, worker = null, token = null, leased_until = null,
           renewed_at = null, mismatches = null,
           mismatched_at = null, finished_at = :now::bigint,
           expires_at = case when :ends::boolean then :now::bigint + job.keep end
     where job.seq = :seq::bigint
    returning job.id, job.chain_id, job.type, job.attempt
), admission as (
    delete from holdfast.key using completed where key.type = :admission::text and key.key = completed.chain_id
), counters as (
    insert into holdfast.counter_change (type, minute, kind, number)
    select completed.type, :now::bigint / 60000000, 'completed', 1 from completed
)
select completed.id, completed.type, completed.attempt from completed
