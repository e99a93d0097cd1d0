-- session: the process id of the session, and whether this role may start jobs only by the functions of the schema.
select pg_backend_pid(),
       exists (select 1
                 from pg_proc join pg_namespace on pg_namespace.oid = pg_proc.pronamespace
                where nspname = :schema::text and proname = 'start_insert_job'
                  and has_function_privilege(pg_proc.oid, 'EXECUTE'))
       and not exists (select 1
                         from pg_class join pg_namespace on pg_namespace.oid = pg_class.relnamespace
                        where nspname = :schema::text and relname = 'job'
                          and has_table_privilege(pg_class.oid, 'INSERT'))
