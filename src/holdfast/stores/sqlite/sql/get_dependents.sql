-- get_dependents: the unfinished jobs that name a chain as a blocker, oldest first.
select * from holdfast_record
 where id in (select job_id from holdfast_blocker where chain_id = :chain_id)
   and status in ('blocked', 'pending', 'running')
 order by seq
 limit :limit
