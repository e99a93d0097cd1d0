-- event_writers: the newest event, and since when a transaction is open that may have written one that nobody sees yet.
-- Whoever writes events holds this lock until the end; when it began is hidden from some roles, and then long ago.
select coalesce((select max(event.seq) from holdfast.event), 0),
       (select min(coalesce((extract(epoch from activity.xact_start) * 1000000)::bigint, 0))
          from pg_locks
          left join pg_stat_activity activity on activity.pid = pg_locks.pid
         where pg_locks.locktype = 'relation' and pg_locks.relation = 'holdfast.event'::regclass
           and pg_locks.mode = 'RowExclusiveLock' and pg_locks.pid <> pg_backend_pid())
