-- lock_jobs: lock these rows until the transaction ends, except those that another transaction locks.
-- seqs: rows that will change. kept: rows that must not finish and not be deleted. An attempt locks its own job for key
-- share while the code of the application runs. no key update does not conflict with that, so two attempts that name
-- each other's chain as a blocker do not wait for each other.
-- first, first_kept: a row to wait for, before any other row is locked. So no other row is locked during the wait.
-- If the session of a lost worker holds the first row, it is terminated instead.
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

-- guard_jobs: lock these rows until the transaction ends, except those that another transaction locks.
-- key share: the jobs do not change their status meanwhile, and operations that only name their chains do not wait.
select job.seq from holdfast.job where job.seq = any(:seqs::bigint[]) order by job.seq for key share skip locked

-- guard_wait: the same for one row, but wait for its lock.
select job.seq from holdfast.job where job.seq = :seq::bigint for key share
