-- take_write_lock: get SQLite's write lock without a change.
-- The first statement of a transaction must not be a read. A transaction that reads first and writes later fails
-- at once if another connection has committed in between.
update holdfast_migration set name = name where false
