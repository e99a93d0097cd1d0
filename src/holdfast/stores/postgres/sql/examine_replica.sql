-- examine_replica: whether this server only follows another, whether it hears from it, and how many seconds it is behind.
-- A standby that has replayed all it received is not behind, however long ago that was: nothing may have happened since.
select pg_is_in_recovery(),
       exists (select 1 from pg_stat_wal_receiver),
       case when pg_last_wal_receive_lsn() is distinct from pg_last_wal_replay_lsn()
            then coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp()), 0)
            else 0 end::double precision
