-- lock_jobs: hold these rows until the transaction ends, all but those that somebody else holds.
-- first: waited for if need be, before any other is taken, so that who waits holds none of them.
with waited_for as materialized (
    select job.seq from holdfast.job where job.seq = :first::bigint for update
), free as materialized (
    select job.seq
      from holdfast.job
     where job.seq = any(:seqs::bigint[]) and (select count(*) from waited_for) >= 0
     order by job.seq
       for update skip locked
)
select free.seq from free
