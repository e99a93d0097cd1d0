-- The application_name of a worker's session while its transaction holds a job. The token must not appear in a log.
create function holdfast.attempt_name(id text, token text) returns text language sql stable parallel safe
    as $$ select 'holdfast attempt ' || left(encode(sha256(convert_to(id || ' ' || token, 'UTF8')), 'hex'), 32) $$;

-- True if the statement that a session runs is its COMMIT, or a script that ends with it. Comments before it do not count.
create function holdfast.commits(state text, query text, wait_event text) returns boolean language sql immutable parallel safe
    as $$ select coalesce(wait_event = 'SyncRep', false) or (state <> 'idle in transaction' and (
          query ~* '^(\s|;|--[^\n]*\n|/\*([^*]|\*+[^*/])*\*+/)*(commit|end|prepare\s+transaction)\M'
          or query ~* ';\s*commit\s*;?\s*$')) $$;

-- True if this role may terminate sessions of that role.
create function holdfast.may_terminate(role oid) returns boolean language sql stable parallel safe
    as $$ select (pg_has_role(role, 'usage') or pg_has_role('pg_signal_backend', 'usage'))
             and ((select pg_roles.rolsuper from pg_roles where pg_roles.rolname = current_user)
                  or not exists (select 1 from pg_roles where pg_roles.oid = role and pg_roles.rolsuper)) $$;

-- Sessions of lost workers, each with the job that its open transaction locks.
-- The transaction locks the job for key share, so renewals of a live worker continue: an expired lease means that the
-- worker is lost. A settlement locks the job for update, and no renewal succeeds until its COMMIT. So a session that has
-- written jobs must also have been idle for a whole lease. A session that executes COMMIT may belong to a live worker.
create function holdfast.lost_attempts(wanted bigint[], session integer, given bigint)
    returns table (seq bigint, job_id text, pid integer, written boolean) language sql volatile as $$
    select job.seq, job.id, activity.pid, held.written
      from holdfast.job
      join pg_stat_activity activity on activity.application_name = holdfast.attempt_name(job.id, job.token)
     cross join lateral (
        select count(*) > 0 as locked, coalesce(bool_or(locks.mode = 'RowExclusiveLock'), false) as written
          from pg_locks locks
         where locks.pid = activity.pid and locks.locktype = 'relation' and locks.granted
           and locks.relation = 'holdfast.job'::regclass) held
     where job.seq = any(wanted) and job.status = 'running' and job.leased_until <= holdfast.clock(given)
       and (session is null or activity.pid = session)
       and activity.datname = current_database() and activity.backend_type = 'client backend'
       and activity.state in ('active', 'idle in transaction', 'fastpath function call')
       and activity.xact_start is not null and held.locked
       and not holdfast.commits(activity.state, activity.query, activity.wait_event)
       and (not held.written or activity.state_change
                                <= clock_timestamp() - (job.leased_until - job.renewed_at) * interval '1 microsecond')
       and holdfast.may_terminate(activity.usesysid) $$;

-- Terminate the sessions of lost attempts that hold these jobs. The rows of the jobs are free when the sessions have ended.
-- Each session is checked again in the statement that terminates it: the server caches pg_stat_activity until the end of
-- the transaction unless the cache is cleared. An older snapshot may show a lease that has been renewed since.
-- If a third transaction locks the row and blocks renewals, such as a start of a job after this one, an expired lease
-- does not mean that the worker is lost.
create function holdfast.end_lost_attempts(wanted bigint[], given bigint)
    returns table (job_id text, pid integer) language plpgsql volatile as $$
declare
    lost record;
begin
    if current_setting('transaction_isolation') <> 'read committed'
       or not exists (select 1 from holdfast.job
                       where job.seq = any(wanted) and job.status = 'running' and job.leased_until <= holdfast.clock(given)) then
        return;
    end if;
    perform pg_stat_clear_snapshot();
    for lost in select * from holdfast.lost_attempts(wanted, null, given) loop
        if not lost.written then
            perform 1 from holdfast.job where job.seq = lost.seq for no key update skip locked;
            continue when not found;
        end if;
        perform pg_stat_clear_snapshot();
        return query
        select again.job_id, again.pid
          from holdfast.lost_attempts(array[lost.seq], lost.pid, given) again
         where pg_terminate_backend(again.pid);
    end loop;
end $$;
