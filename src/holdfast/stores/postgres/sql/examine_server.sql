-- examine_server: dead rows, missing or broken indexes, and settings that matter.
select current_setting('server_version_num')::int, current_setting('server_version'),
       pg_stat_get_dead_tuples('holdfast.job'::regclass), pg_stat_get_live_tuples('holdfast.job'::regclass),
       array(select wanted.name
               from unnest(array['job_pkey', 'job_id', 'job_due', 'job_leased', 'job_step', 'job_key', 'job_expires',
                                 'job_blocked', 'job_failed', 'job_cancelled', 'blocker_pkey', 'blocker_chain',
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
