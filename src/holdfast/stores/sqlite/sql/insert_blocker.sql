-- insert_blocker: what a job waits for.
insert into holdfast_blocker (job_id, position, chain_id) values (?, ?, ?)
