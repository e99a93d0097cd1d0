-- workers: the rows of live workers.

-- report_worker: write or refresh the row of a worker, and delete rows of workers that have not reported for long.
-- The row of a later worker with the same id stays as it is. No NOTIFY: a report must not wake any process.
-- skip locked: otherwise two workers that were frozen for long would wait for the rows of each other.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), gone as materialized (
    select worker.id
      from holdfast.worker, clock
     where worker.seen_at < clock.now - :pruned_after::bigint and worker.id <> :id::text
     limit 100
       for update of worker skip locked
), pruned as (
    delete from holdfast.worker where worker.id = any(array(select gone.id from gone))
), written as (
    insert into holdfast.worker (id, host, pid, types, concurrency, registry, details, started_at, seen_at, draining)
    select :id::text, :host::text, :pid::bigint, :types::text[], :concurrency::bigint, :registry::text, :details::text,
           coalesce(nullif(:started_at::bigint, 0), clock.now), clock.now, :draining::boolean
      from clock
        on conflict (id) do update
       set host = excluded.host, pid = excluded.pid, types = excluded.types, concurrency = excluded.concurrency,
           registry = excluded.registry, details = excluded.details, started_at = excluded.started_at,
           seen_at = excluded.seen_at,
           draining = excluded.draining or (worker.draining and worker.started_at = excluded.started_at)
     where worker.started_at <= excluded.started_at
    returning worker.started_at, worker.draining
)
select coalesce(written.started_at, :started_at::bigint), coalesce(written.draining, :draining::boolean)
  from clock left join written on true

-- remove_worker: delete the row of a worker that stops, unless it belongs to a later worker with the same id.
delete from holdfast.worker where worker.id = :id::text and worker.started_at = :started_at::bigint

-- drain_worker: ask a live worker to stop. Returns whether it was asked before.
with known as materialized (
    select worker.id, worker.draining
      from holdfast.worker
     where worker.id = :id::text and worker.seen_at >= holdfast.clock(:now::bigint) - :gone_after::bigint
       for update
)
update holdfast.worker set draining = true from known where worker.id = known.id
returning known.draining

-- get_workers: the live workers, with the number of jobs that each runs.
-- The running jobs have a separate index. Their number is at most the number of slots of all workers.
with busy as materialized (
    select job.worker, count(*) as jobs from holdfast.job where job.status = 'running' group by job.worker
)
select worker.id, worker.host, worker.pid, worker.types, worker.concurrency, worker.registry, worker.details,
       worker.started_at, worker.seen_at, worker.draining, coalesce(busy.jobs, 0)
  from holdfast.worker left join busy on busy.worker = worker.id
 where worker.seen_at >= holdfast.clock(:now::bigint) - :gone_after::bigint
 order by worker.started_at, worker.id
