-- read_events: events after a seq, oldest first, each with the time when it was written.
select event.seq, event.at, event.kind, event.job_id, event.chain_id, event.type, event.attempt, event.worker,
       event.written_at
  from holdfast.event
 where event.seq > :after::bigint
 order by event.seq
 limit :limit::bigint
