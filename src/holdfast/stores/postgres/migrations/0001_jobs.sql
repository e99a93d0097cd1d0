-- 0001_jobs: the tables of the first release.
-- Times are microseconds since 1970. Payloads are the exact bytes that the codec wrote.

-- The time of a verb: the clock of the server, which advances within a transaction, or the time that a test passes.
create function holdfast.clock(given bigint) returns bigint language sql volatile parallel safe
    as $$ select coalesce(given, (extract(epoch from clock_timestamp()) * 1000000)::bigint) $$;

-- Every update except a renewal writes new index entries, so there are few indexes, and those for one status are partial.
-- Renewals write leased_until and renewed_at, which are in no index: these updates are HOT and stay on their page.
create table holdfast.job (
    seq bigint generated always as identity primary key,
    created_at bigint not null,
    scheduled_at bigint not null,
    leased_until bigint,
    renewed_at bigint,
    started_at bigint,
    finished_at bigint,
    -- Only in the last job of a finished chain: when the chain may be pruned.
    expires_at bigint,
    timeout bigint,
    keep bigint,
    -- Of the first job of a chain: how long its key is taken after the chain was completed; null: while it is kept.
    dedup_for bigint,
    priority bigint not null default 0,
    attempt bigint not null default 0,
    max_attempts bigint,
    progress double precision,
    -- Set if the worker of the last attempt could not read the input: how many attempts in a row, and since when.
    mismatches bigint,
    mismatched_at bigint,
    chain_index integer not null default 0,
    blockers integer not null default 0,
    open_blockers integer not null default 0,
    -- Only in the last job of a chain: a job names the chain as its blocker.
    awaited boolean not null default false,
    status text collate "C" not null,
    id text collate "C" not null,
    type text collate "C" not null,
    chain_id text collate "C" not null,
    key text collate "C",
    worker text,
    token text collate "C",
    progress_note text,
    trace text,
    on_blocker_failure text not null default 'wait',
    input bytea not null,
    output bytea,
    error bytea
) with (
    fillfactor = 85,
    toast_tuple_target = 256,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_vacuum_insert_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_analyze_threshold = 5000
);

create unique index job_id on holdfast.job (id);
create index job_due on holdfast.job (type, priority desc, scheduled_at, seq) where status = 'pending';
create index job_leased on holdfast.job (type) where status = 'running';
create unique index job_step on holdfast.job (chain_id, chain_index) where chain_index > 0;
create index job_key on holdfast.job (key, type, seq) where key is not null;
create index job_expires on holdfast.job (expires_at, chain_id) where expires_at is not null;
create index job_blocked on holdfast.job (type, seq) where status = 'blocked';
create index job_failed on holdfast.job (type, seq) where status = 'failed';
create index job_cancelled on holdfast.job (type, seq) where status = 'cancelled';

create table holdfast.blocker (
    job_id text collate "C" not null,
    position integer not null,
    chain_id text collate "C" not null,
    primary key (job_id, position)
);
create index blocker_chain on holdfast.blocker (chain_id);

-- Only attempts that did not complete their job: the row of the job describes the one that did.
create table holdfast.attempt (
    seq bigint generated always as identity primary key,
    job_id text collate "C" not null,
    number bigint not null,
    worker text,
    started_at bigint,
    ended_at bigint not null,
    outcome text not null,
    error bytea,
    next_at bigint
);
create index attempt_job on holdfast.attempt (job_id, seq);

-- A start with a key locks its row here until the transaction ends, so that one start with this key runs at a time.
create table holdfast.key (
    type text collate "C" not null,
    key text collate "C" not null,
    used_at bigint not null,
    primary key (type, key)
) with (fillfactor = 70);
create index key_used on holdfast.key (used_at);

create table holdfast.paused (type text collate "C" primary key);

-- The number of jobs of each type, as changes to add up. No transaction waits for the row of another, and completed jobs
-- need not be read to count them. Pruning adds up old changes.
create table holdfast.tally (
    seq bigint generated always as identity primary key,
    type text collate "C" not null,
    jobs bigint not null
);

create table holdfast.listener (name text collate "C" primary key, until bigint not null);

create table holdfast.event (
    seq bigint generated always as identity primary key,
    -- The time of the server, even if the verb has the time of a test: the reader compares it with open transactions.
    written_at bigint not null default holdfast.clock(null),
    at bigint not null,
    kind text not null,
    job_id text not null,
    chain_id text not null,
    type text not null,
    attempt bigint not null,
    worker text
);

-- Written in a transaction of the application. If a mark exists later, that transaction has committed.
create table holdfast.mark (
    id text collate "C" primary key,
    written_at bigint not null default holdfast.clock(null)
);

create table holdfast.migration (
    number integer primary key,
    name text not null,
    applied_at timestamptz not null default clock_timestamp()
);

-- A job as the library reads it. The columns never change: a later release that reads more columns creates another view.
create view holdfast.record as
select seq, id, type, chain_id, chain_index, status, priority, attempt, max_attempts, input, output, error, key,
       worker, token, leased_until, renewed_at, progress, progress_note, created_at, scheduled_at, started_at,
       finished_at, timeout, keep, trace, blockers, open_blockers, on_blocker_failure,
       mismatches, mismatched_at, dedup_for
  from holdfast.job;

-- Bytes as JSON, or null if they are not JSON.
create function holdfast.as_json(payload bytea) returns json language plpgsql immutable parallel safe as $$
begin
    return convert_from(payload, 'UTF8')::json;
exception when others then
    return null;
end $$;

create function holdfast.as_time(micros bigint) returns timestamptz language sql immutable parallel safe
    as $$ select to_timestamp(0) + make_interval(secs => micros / 1000000) + (micros % 1000000) * interval '1 microsecond' $$;

-- A job in readable form, for people and reports.
create view holdfast.readable as
select seq, id, type, chain_id, chain_index, status, priority, attempt, nullif(max_attempts, 0) as max_attempts, key,
       worker, holdfast.as_json(input) as input, holdfast.as_json(output) as output, holdfast.as_json(error) as error,
       progress, progress_note, open_blockers, trace,
       holdfast.as_time(created_at) as created_at, holdfast.as_time(scheduled_at) as scheduled_at,
       holdfast.as_time(started_at) as started_at, holdfast.as_time(finished_at) as finished_at,
       holdfast.as_time(leased_until) as leased_until, holdfast.as_time(expires_at) as expires_at
  from holdfast.job;

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
