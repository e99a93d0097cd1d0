-- last_seq: the newest job's seq, deleted ones included.
select coalesce((select seq from sqlite_sequence where name = 'holdfast_job'), 0)
