-- place: the newest job's seq, deleted ones included, and the chain in which this job exists already.
select coalesce((select seq from sqlite_sequence where name = 'holdfast_job'), 0),
       (select chain_id from holdfast_job where id = :id)
