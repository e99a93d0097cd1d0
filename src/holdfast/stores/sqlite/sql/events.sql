-- events: record events and read them.

-- listening: whether anybody wants events recorded.
select 1 from holdfast_listener where until > :now limit 1

-- listen: somebody wants events recorded for a while.
insert into holdfast_listener (name, until) values (:name, :until)
    on conflict (name) do update set until = excluded.until

-- listen_forget: those whose time is over listen no more.
delete from holdfast_listener where until <= :now

-- unlisten: somebody wants no more events.
delete from holdfast_listener where name = :name

-- last_event: the newest event's seq.
select coalesce(max(seq), 0) from holdfast_event

-- insert_event: record what happened.
insert into holdfast_event (at, kind, job_id, chain_id, type, attempt, worker) values (?, ?, ?, ?, ?, ?, ?)

-- forget_events: old events go.
delete from holdfast_event where seq <= (select max(seq) from holdfast_event) - :kept

-- read_events: events after a seq, oldest first.
select seq, at, kind, job_id, chain_id, type, attempt, worker
  from holdfast_event where seq > :after order by seq limit :limit
