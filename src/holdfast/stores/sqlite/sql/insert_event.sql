-- insert_event: record what happened.
insert into holdfast_event (at, kind, job_id, chain_id, type, attempt, worker) values (?, ?, ?, ?, ?, ?, ?)
