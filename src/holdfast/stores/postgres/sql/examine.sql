-- examine_server: version, dead rows, missing or invalid indexes, and unsafe settings.
select current_setting('server_version_num')::int, current_setting('server_version'),
       pg_stat_get_dead_tuples('holdfast.job'::regclass), pg_stat_get_live_tuples('holdfast.job'::regclass),
       array(select wanted.name
               from unnest(array['job_pkey', 'job_id', 'job_due', 'job_leased', 'job_lane', 'job_step', 'job_key',
                                 'job_expires', 'job_rare', 'job_fingerprint', 'job_origin', 'blocker_pkey', 'blocker_chain',
                                 'attempt_job', 'key_pkey', 'key_used']) wanted (name)
              where not exists (select 1
                                  from pg_index, pg_class, pg_class jobs
                                 where jobs.oid = 'holdfast.job'::regclass and pg_index.indisvalid
                                   and pg_class.oid = pg_index.indexrelid and pg_class.relname = wanted.name
                                   and pg_class.relnamespace = jobs.relnamespace)
              order by wanted.name),
       array(select name || ' = ' || setting
               from pg_settings
              where (name, setting) in (('fsync', 'off'), ('full_page_writes', 'off'), ('synchronous_commit', 'off'),
                                        ('autovacuum', 'off'), ('track_counts', 'off'))
              order by name),
       pg_is_in_recovery(), pg_notification_queue_usage()

-- examine_horizon: what keeps vacuum from removing dead rows, oldest first.
-- A session that wrote holds the horizon by its transaction id; between two statements it has no snapshot.
-- The snapshot of sessions of other roles is visible only to members of pg_read_all_stats.
select holder.kind, holder.name, holder.transactions, holder.detail
  from (
    select 'session' as kind, activity.pid::text as name, greatest(age(activity.backend_xid), age(activity.backend_xmin)) as transactions,
           coalesce(activity.usename, '?') || ', ' || coalesce(nullif(activity.application_name, ''), 'unnamed') || ', '
           || coalesce(activity.state, '?') || ' for '
           || coalesce(round(extract(epoch from clock_timestamp() - activity.xact_start))::text, '?') || ' s' as detail,
           extract(epoch from clock_timestamp() - activity.xact_start) as seconds
      from pg_stat_activity activity
     where coalesce(activity.backend_xid, activity.backend_xmin) is not null and activity.pid <> pg_backend_pid()
    union all
    select 'replication slot', slot.slot_name::text, greatest(age(slot.xmin), age(slot.catalog_xmin)),
           case when slot.active then 'active' else 'inactive' end, null
      from pg_replication_slots slot
     where slot.xmin is not null
    union all
    select 'prepared transaction', prepared.gid, age(prepared.transaction), prepared.owner::text,
           extract(epoch from clock_timestamp() - prepared.prepared)
      from pg_prepared_xacts prepared) holder
 where holder.transactions > 100000 or holder.seconds > 60
 order by holder.transactions desc
 limit 5

-- examine_expired: the number of running jobs with an expired lease, and the longest delay.
select count(*), max(holdfast.clock(:now::bigint) - job.leased_until)
  from holdfast.job
 where job.status = 'running' and job.leased_until <= holdfast.clock(:now::bigint)

-- examine_holders: sessions whose open transactions lock jobs with expired leases.
-- A session certainly holds a job if its application_name is that of the attempt, or its transaction id is in the row.
-- If several sessions lock a row, the row has another id. Then the result has all sessions that locked rows of the table
-- before the lease expired. The state of sessions of other roles is visible only to members of pg_read_all_stats.
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

-- examine_oldest: the pending job that has been due the longest, of a type that is not paused.
select job.type, holdfast.clock(:now::bigint) - job.scheduled_at
  from holdfast.job
 where job.status = 'pending' and job.scheduled_at <= holdfast.clock(:now::bigint)
   and job.type not in (select paused.type from holdfast.paused)
 order by job.scheduled_at
 limit 1

-- examine_replica: whether this server is a standby, whether it receives WAL, and how many seconds it is behind.
-- A standby that has replayed everything it received is not behind: the primary may have written nothing since.
select pg_is_in_recovery(),
       exists (select 1 from pg_stat_wal_receiver),
       case when pg_last_wal_receive_lsn() is distinct from pg_last_wal_replay_lsn()
            then coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()), 0)
            else 0 end::double precision
