-- place: the newest job's seq, the chain in which this job exists already, and whether anybody wants events recorded.
-- One question for a start, which is what most commits are. The seq is that of deleted jobs, too.
select coalesce((select seq from sqlite_sequence where name = 'holdfast_job'), 0),
       (select chain_id from holdfast_job where id = :id),
       exists (select 1 from holdfast_listener where until > :now)
