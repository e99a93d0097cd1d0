-- prune_tally: add old changes together, once there are many.
with old as materialized (
    select tally.seq
      from holdfast.tally
     where (select count(*) from (select 1 from holdfast.tally limit 1000) changes) = 1000
     order by tally.seq
     limit 50000
       for update skip locked
), gone as (
    delete from holdfast.tally where tally.seq = any(array(select old.seq from old)) returning tally.type, tally.jobs
)
insert into holdfast.tally (type, jobs)
select gone.type, sum(gone.jobs) from gone group by gone.type having sum(gone.jobs) <> 0
