-- insert_job: a new job.
-- Positions, not names: this runs for thousands of rows at a time.
insert into holdfast_job (seq, id, type, chain_id, chain_index, status, priority, max_attempts, key, created_at,
                          scheduled_at, timeout, keep, trace, blockers, open_blockers, on_blocker_failure, input)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
