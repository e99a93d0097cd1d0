-- write_lock: begin to write in the application's transaction.

-- take_write_lock: nothing is changed, but from here on nobody else writes.
-- The first statement of a transaction must not be a read: one that turns from reading to writing fails at once
-- when somebody else has written in between.
update holdfast_migration set name = name where false
