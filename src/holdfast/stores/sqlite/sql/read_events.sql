-- read_events: events after a seq, oldest first.
select seq, at, kind, job_id, chain_id, type, attempt, worker
  from holdfast_event where seq > :after order by seq limit :limit
