-- workers: the rows of live workers, in the worker file.

-- create_worker: the only table of the file.
create table if not exists worker (
    id text primary key,
    host text not null,
    pid integer not null,
    types text not null,
    concurrency integer not null,
    registry text not null,
    details text not null,
    started_at integer not null,
    seen_at integer not null,
    draining integer not null
) without rowid

-- report_worker: write or refresh the row of a worker. The row of a later worker with the same id stays as it is.
insert into worker (id, host, pid, types, concurrency, registry, details, started_at, seen_at, draining)
values (:id, :host, :pid, :types, :concurrency, :registry, :details, :started_at, :now, :draining)
    on conflict (id) do update
   set host = excluded.host, pid = excluded.pid, types = excluded.types, concurrency = excluded.concurrency,
       registry = excluded.registry, details = excluded.details, started_at = excluded.started_at,
       seen_at = excluded.seen_at,
       draining = excluded.draining or (worker.draining and worker.started_at = excluded.started_at)
 where worker.started_at <= excluded.started_at

-- is_draining: whether a worker was asked to stop.
select draining from worker where id = :id and started_at = :started_at

-- prune_workers: delete the rows of workers that are gone for long.
delete from worker where seen_at < :before

-- remove_worker: delete the row of a worker that stops, unless it belongs to a later worker with the same id.
delete from worker where id = :id and started_at = :started_at

-- drain_worker: ask a live worker to stop.
update worker set draining = 1 where id = :id and seen_at >= :since

-- get_workers: the live workers.
select id, host, pid, types, concurrency, registry, details, started_at, seen_at, draining
  from worker
 where seen_at >= :since
 order by started_at, id
