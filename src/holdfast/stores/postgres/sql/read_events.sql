-- read_events: events after a seq, oldest first, each with whether no event before it can still appear.
select event.seq, event.at, event.kind, event.job_id, event.chain_id, event.type, event.attempt, event.worker,
       event.horizon <= pg_snapshot_xmin(pg_current_snapshot())
       or event.at < holdfast.clock(:now::bigint) - 60000000
  from holdfast.event
 where event.seq > :after::bigint
 order by event.seq
 limit :limit::bigint
