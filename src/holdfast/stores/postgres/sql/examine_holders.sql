-- examine_holders: sessions whose open transactions hold jobs with expired leases.
-- A session holds a job for certain if it bears the name of the attempt, or its number is in the row. A row with several
-- holders has another number: then the sessions count that locked rows of the table before the lease ran out.
-- Sessions of other roles show their state only to members of pg_read_all_stats.
with expired as materialized (
    select job.id, job.token, job.leased_until, job.xmax as locker,
           holdfast.clock(:now::bigint) - job.leased_until as late
      from holdfast.job
     where job.status = 'running' and job.leased_until <= holdfast.clock(:now::bigint)
     order by job.leased_until, job.seq
     limit 20
), session as materialized (
    select activity.*
      from pg_stat_activity activity
     where activity.pid <> pg_backend_pid() and activity.datname = current_database()
       and exists (select 1 from expired)
       and exists (select 1
                     from pg_locks held
                    where held.pid = activity.pid and held.locktype = 'relation' and held.granted
                      and held.mode in ('RowShareLock', 'RowExclusiveLock')
                      and held.relation = 'holdfast.job'::regclass)
), certain as materialized (
    select expired.id, session.pid, session.application_name = holdfast.attempt_name(expired.id, expired.token) as attempt
      from expired join session
        on session.application_name = holdfast.attempt_name(expired.id, expired.token)
        or session.backend_xid::text = expired.locker::text
), holder as (
    select certain.id, certain.pid, certain.attempt, true as certain from certain
    union all
    select expired.id, session.pid, false, false
      from expired join session on session.xact_start <= holdfast.as_time(expired.leased_until)
     where expired.locker::text <> '0' and not exists (select 1 from certain where certain.id = expired.id)
)
select expired.id, expired.late, session.pid, holder.certain,
       case when session.state is null then 'hidden'
            when session.state = 'disabled' then 'untracked'
            when holdfast.commits(session.state, session.query, session.wait_event) then 'committing'
            when not holder.attempt then 'application'
            when holdfast.may_terminate(session.usesysid) then 'attempt'
            else 'protected' end,
       coalesce(session.usename, '?'),
       coalesce(session.usename, '?') || ', ' || coalesce(nullif(session.application_name, ''), 'unnamed') || ', '
       || coalesce(session.state, '?') || ' for '
       || coalesce(round(extract(epoch from clock_timestamp() - session.state_change))::text, '?') || ' s'
  from holder join expired on expired.id = holder.id join session on session.pid = holder.pid
 order by expired.late desc, expired.id, session.pid
