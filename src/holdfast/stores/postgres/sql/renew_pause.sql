-- renew_pause: give whoever holds a row a moment to finish.
select pg_sleep(0.01)
