-- events: record events and read them.

-- listening: whether a listener is registered.
select 1 from holdfast_listener where until > :now limit 1

-- listen: register a listener until a time.
insert into holdfast_listener (name, until) values (:name, :until)
    on conflict (name) do update set until = excluded.until

-- delete_listeners: remove the listeners whose time has expired.
delete from holdfast_listener where until <= :now

-- unlisten: remove a listener.
delete from holdfast_listener where name = :name

-- last_event: the seq of the newest event.
select coalesce(max(seq), 0) from holdfast_event

-- insert_event: record an event.
insert into holdfast_event (at, kind, job_id, chain_id, type, attempt, worker) values (?, ?, ?, ?, ?, ?, ?)

-- delete_events: delete all events but the newest.
delete from holdfast_event where seq <= (select max(seq) from holdfast_event) - :kept

-- read_events: events after a seq, oldest first.
select seq, at, kind, job_id, chain_id, type, attempt, worker
  from holdfast_event where seq > :after order by seq limit :limit
