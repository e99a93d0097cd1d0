-- lock_jobs: hold these rows until the transaction ends, all but those that another transaction holds.
-- seqs: rows that will change. kept: rows that must neither end nor go. An attempt holds its own job key share while the
-- application's code runs, and no key update does not wait for it: two attempts that name each other's chain as a blocker
-- do not wait for each other.
-- first, first_kept: waited for if need be, before any other is taken, so that who waits holds none of them.
-- The session of a worker that is gone is not waited for: it is terminated if it holds the first job.
with ended as materialized (
    select count(*) as sessions
      from holdfast.end_lost_attempts(array[coalesce(:first::bigint, :first_kept::bigint)], :now::bigint)
     where coalesce(:first::bigint, :first_kept::bigint) is not null
), waited_for as materialized (
    select job.seq from holdfast.job
     where job.seq = :first::bigint and (select ended.sessions from ended) >= 0
       for update
), waited_for_kept as materialized (
    select job.seq from holdfast.job
     where job.seq = :first_kept::bigint and (select ended.sessions from ended) >= 0
       for no key update
), free as materialized (
    select job.seq
      from holdfast.job
     where job.seq = any(:seqs::bigint[])
       and (select count(*) from waited_for) + (select count(*) from waited_for_kept) >= 0
     order by job.seq
       for update skip locked
), kept as materialized (
    select job.seq
      from holdfast.job
     where job.seq = any(:kept::bigint[]) and (select count(*) from free) >= 0
     order by job.seq
       for no key update skip locked
)
select free.seq, true from free
union all
select kept.seq, false from kept
