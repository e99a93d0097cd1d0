-- Holdfast's tables in schema holdfast.

do $holdfast$ declare
missing boolean = true;
previous_timeout text = current_setting('lock_timeout');
begin
perform set_config('lock_timeout', '2s', true);
begin perform pg_advisory_xact_lock(7333912291228323014);
exception when undefined_function or feature_not_supported or insufficient_privilege then null; end;
if not exists (select from pg_namespace where nspname = 'holdfast') then create schema "holdfast"; end if;
perform set_config('lock_timeout', previous_timeout, true);
end $holdfast$;

do $holdfast$ declare
missing boolean = true;
previous_timeout text = current_setting('lock_timeout');
begin
perform set_config('lock_timeout', '2s', true);
begin perform pg_advisory_xact_lock(7333912291228323014);
exception when undefined_function or feature_not_supported or insufficient_privilege then null; end;
if to_regclass('holdfast.migration') is not null then
    missing = not exists (select number from "holdfast".migration where number = 1);
end if;
if missing then
execute $migration$
-- 0001_jobs: the tables of the first release.
-- Times are microseconds since 1970. Payloads are the exact bytes that the codec wrote.

-- The time of a verb: the clock of the server, which advances within a transaction, or the time that a test passes.
create function "holdfast".clock(given bigint) returns bigint language sql volatile parallel safe
    as $$ select coalesce(given, (extract(epoch from clock_timestamp()) * 1000000)::bigint) $$;

-- Every update except a renewal writes new index entries, so there are few indexes, and those for one status are partial.
-- Renewals write leased_until and renewed_at, which are in no index: these updates are HOT and stay on their page.
create table "holdfast".job (
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
    -- JSON of the values that no statement filters or changes; null if there are none.
    details text,
    on_blocker_failure text not null default 'wait',
    -- Of a failed job: the group of its error. An earlier failure may have left a value in jobs with another status.
    fingerprint text collate "C",
    -- Jobs of a type and priority that have the same limits, rates and orders are in one track.
    track text collate "C",
    -- Of a job with rates: the number of the attempt that they have counted.
    counted bigint,
    -- True if an earlier job of the chain holds an order until the chain ends.
    in_order boolean,
    -- The lane that the job holds while it is running, if it has one limit or order and no other lane.
    lane text collate "C",
    -- Of a chain that another start replaced after an attempt: when. `debounce_max` counts from then.
    debounced_at bigint,
    -- The id of the last start that replaced the chain.
    replaced_by text collate "C",
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

-- Without statistics the planner assumes that some jobs have each status, and that some have lanes. With those of a queue
-- that was empty when they were collected, it would read all pending or all running jobs to find one of them by its id.
alter table "holdfast".job alter column status set statistics 0, alter column track set statistics 0;
-- After a vacuum of an empty queue the planner believes that the partial indexes below are empty, whatever their size is. It would
-- then read all of their entries to find one job by its id. So statements that find jobs by id or seq compare `status || ''`,
-- which no partial index has.

create unique index job_id on "holdfast".job (id);
-- Jobs with lanes have a track, so that claims of other jobs do not read them.
create index job_due on "holdfast".job (type, track, priority desc, scheduled_at, seq) where status = 'pending';
create index job_leased on "holdfast".job (type) where status = 'running';
create index job_lane on "holdfast".job (lane) where status = 'running' and lane is not null;
create unique index job_step on "holdfast".job (chain_id, chain_index) where chain_index > 0;
create index job_key on "holdfast".job (key, type, seq) where key is not null;
create index job_expires on "holdfast".job (expires_at, chain_id) where expires_at is not null;
-- Statuses that few jobs have.
create index job_rare on "holdfast".job (status, type, seq) where status in ('blocked', 'failed', 'cancelled');
create index job_fingerprint on "holdfast".job (fingerprint, seq) where status = 'failed';

-- The chains that jobs started, by the id of the job: the text after `{"origin":"` up to the next quotation mark.
create index job_origin on "holdfast".job (split_part(details, '"', 4)) where starts_with(details, '{"origin":"');

create table "holdfast".blocker (
    job_id text collate "C" not null,
    position integer not null,
    chain_id text collate "C" not null,
    primary key (job_id, position)
);
create index blocker_chain on "holdfast".blocker (chain_id);

-- Only attempts that did not complete their job: the row of the job describes the one that did.
-- A row with the outcome 'log' is the log of an attempt, with the text as its error.
create table "holdfast".attempt (
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
create index attempt_job on "holdfast".attempt (job_id, seq);

-- A start with a key locks its row here until the transaction ends, so that one start with this key runs at a time.
create table "holdfast".key (
    type text collate "C" not null,
    key text collate "C" not null,
    used_at bigint not null,
    primary key (type, key)
) with (fillfactor = 70);
create index key_used on "holdfast".key (used_at);

create table "holdfast".paused (type text collate "C" primary key);

-- The number of jobs of each type, as changes to add up. No transaction waits for the row of another, and neither
-- completed nor pending jobs need be read to count them. Pruning adds up old changes.
create table "holdfast".tally (
    seq bigint generated always as identity primary key,
    type text collate "C" not null,
    jobs bigint not null,
    -- How many completed jobs were deleted. The counters have the number of jobs that were ever completed.
    removed bigint not null default 0,
    -- Of a start: its minute, for the counters. Null for deletions and sums.
    minute integer
);

-- Also for a manual DELETE.
create function "holdfast".count_deleted() returns trigger language plpgsql as $$
begin
    insert into "holdfast".tally (type, jobs, removed)
    select deleted.type, -count(*), count(*) filter (where deleted.status = 'completed') from deleted group by deleted.type;
    return null;
end $$;
create trigger count_deleted after delete on "holdfast".job
    referencing old table as deleted for each statement execute function "holdfast".count_deleted();

create table "holdfast".listener (name text collate "C" primary key, until bigint not null);

create table "holdfast".event (
    seq bigint generated always as identity primary key,
    -- The time of the server, even if the verb has the time of a test: the reader compares it with open transactions.
    written_at bigint not null default "holdfast".clock(null),
    at bigint not null,
    kind text not null,
    job_id text not null,
    chain_id text not null,
    type text not null,
    attempt bigint not null,
    worker text
);

-- Record that a chain with one job was created. Called only if there is a listener.
create function "holdfast".record_created(at bigint, id text, type text) returns boolean language sql volatile
    as $$ insert into "holdfast".event (at, kind, job_id, chain_id, type, attempt) values ($1, 'created', $2, $2, $3, 0)
          returning true $$;

-- Written in a transaction of the application. If a mark exists later, that transaction has committed.
create table "holdfast".mark (
    id text collate "C" primary key,
    written_at bigint not null default "holdfast".clock(null)
);

create table "holdfast".migration (
    number integer primary key,
    name text not null,
    applied_at timestamptz not null default clock_timestamp()
);

-- A job as the library reads it. The columns never change: a later release that reads more columns creates another view.
create view "holdfast".record as
select seq, id, type, chain_id, chain_index, status, priority, attempt, max_attempts, input, output, error, key,
       worker, token, leased_until, renewed_at, progress, progress_note, created_at, scheduled_at, started_at,
       finished_at, timeout, keep, details, blockers, open_blockers, on_blocker_failure,
       mismatches, mismatched_at, dedup_for
  from "holdfast".job;

-- Bytes as JSON, or null if they are not JSON.
-- Not parallel safe: a block with an exception handler starts a subtransaction, which a parallel query must not.
create function "holdfast".as_json(payload bytea) returns json language plpgsql immutable parallel unsafe as $$
begin
    return convert_from(payload, 'UTF8')::json;
exception when others then
    return null;
end $$;

create function "holdfast".as_time(micros bigint) returns timestamptz language sql immutable parallel safe
    as $$ select to_timestamp(0) + make_interval(secs => micros / 1000000) + (micros % 1000000) * interval '1 microsecond' $$;

-- A job in readable form, for people and reports.
create view "holdfast".readable as
select seq, id, type, chain_id, chain_index, status, priority, attempt, nullif(max_attempts, 0) as max_attempts, key,
       worker, "holdfast".as_json(input) as input, "holdfast".as_json(output) as output, "holdfast".as_json(error) as error,
       progress, progress_note, open_blockers, details,
       "holdfast".as_time(created_at) as created_at, "holdfast".as_time(scheduled_at) as scheduled_at,
       "holdfast".as_time(started_at) as started_at, "holdfast".as_time(finished_at) as finished_at,
       "holdfast".as_time(leased_until) as leased_until, "holdfast".as_time(expires_at) as expires_at
  from "holdfast".job;

-- The application_name of a worker's session while its transaction holds a job. The token must not appear in a log.
create function "holdfast".attempt_name(id text, token text) returns text language sql stable parallel safe
    as $$ select 'holdfast attempt ' || left(encode(sha256(convert_to(id || ' ' || token, 'UTF8')), 'hex'), 32) $$;

-- True if the statement that a session runs is its COMMIT, or a script that ends with it. Comments before it do not count.
create function "holdfast".commits(state text, query text, wait_event text) returns boolean language sql immutable parallel safe
    as $$ select coalesce(wait_event = 'SyncRep', false) or (state <> 'idle in transaction' and (
          query ~* '^(\s|;|--[^\n]*\n|/\*([^*]|\*+[^*/])*\*+/)*(commit|end|prepare\s+transaction)\M'
          or query ~* ';\s*commit\s*;?\s*$')) $$;

-- True if this role may terminate sessions of that role.
create function "holdfast".may_terminate(role oid) returns boolean language sql stable parallel safe
    as $$ select (pg_has_role(role, 'usage') or pg_has_role('pg_signal_backend', 'usage'))
             and ((select pg_roles.rolsuper from pg_roles where pg_roles.rolname = current_user)
                  or not exists (select 1 from pg_roles where pg_roles.oid = role and pg_roles.rolsuper)) $$;

-- Sessions of lost workers, each with the job that its open transaction locks.
-- The transaction locks the job for key share, so renewals of a live worker continue: an expired lease means that the
-- worker is lost. A settlement locks the job for update, and no renewal succeeds until its COMMIT. So a session that has
-- written jobs must also have been idle for a whole lease. A session that executes COMMIT may belong to a live worker.
create function "holdfast".lost_attempts(wanted bigint[], session integer, given bigint)
    returns table (seq bigint, job_id text, pid integer, written boolean) language sql volatile as $$
    select job.seq, job.id, activity.pid, held.written
      from "holdfast".job
      join pg_stat_activity activity on activity.application_name = "holdfast".attempt_name(job.id, job.token)
     cross join lateral (
        select count(*) > 0 as locked, coalesce(bool_or(locks.mode = 'RowExclusiveLock'), false) as written
          from pg_locks locks
         where locks.pid = activity.pid and locks.locktype = 'relation' and locks.granted
           and locks.relation = '"holdfast".job'::regclass) held
     where job.seq = any(wanted) and job.status = 'running' and job.leased_until <= "holdfast".clock(given)
       and (session is null or activity.pid = session)
       and activity.datname = current_database() and activity.backend_type = 'client backend'
       and activity.state in ('active', 'idle in transaction', 'fastpath function call')
       and activity.xact_start is not null and held.locked
       and not "holdfast".commits(activity.state, activity.query, activity.wait_event)
       and (not held.written or activity.state_change
                                <= clock_timestamp() - (job.leased_until - job.renewed_at) * interval '1 microsecond')
       and "holdfast".may_terminate(activity.usesysid) $$;

-- Terminate the sessions of lost attempts that hold these jobs. The rows of the jobs are free when the sessions have ended.
-- Each session is checked again in the statement that terminates it: the server caches pg_stat_activity until the end of
-- the transaction unless the cache is cleared. An older snapshot may show a lease that has been renewed since.
-- If a third transaction locks the row and blocks renewals, such as a start of a job after this one, an expired lease
-- does not mean that the worker is lost.
create function "holdfast".end_lost_attempts(wanted bigint[], given bigint)
    returns table (job_id text, pid integer) language plpgsql volatile as $$
declare
    lost record;
begin
    if current_setting('transaction_isolation') <> 'read committed'
       or not exists (select 1 from "holdfast".job
                       where job.seq = any(wanted) and job.status = 'running' and job.leased_until <= "holdfast".clock(given)) then
        return;
    end if;
    perform pg_stat_clear_snapshot();
    for lost in select * from "holdfast".lost_attempts(wanted, null, given) loop
        if not lost.written then
            perform 1 from "holdfast".job where job.seq = lost.seq for no key update skip locked;
            continue when not found;
        end if;
        perform pg_stat_clear_snapshot();
        return query
        select again.job_id, again.pid
          from "holdfast".lost_attempts(array[lost.seq], lost.pid, given) again
         where pg_terminate_backend(again.pid);
    end loop;
end $$;

-- Live workers, each with the time of its last report. Few rows, updated often: a report changes no indexed column.
create table "holdfast".worker (
    id text collate "C" primary key,
    host text not null,
    pid bigint not null,
    types text[] not null,
    concurrency bigint not null,
    registry text not null,
    details text not null,
    started_at bigint not null,
    seen_at bigint not null,
    draining boolean not null
) with (fillfactor = 50);

-- What operators changed, each entry written in the transaction of the change.
create table "holdfast".audit (
    seq bigint generated always as identity primary key,
    at bigint not null,
    "user" text not null,
    action text not null,
    target text collate "C" not null,
    chain_id text collate "C",
    reason text
);
create index audit_at on "holdfast".audit (at);
create index audit_target on "holdfast".audit (target);
create index audit_chain on "holdfast".audit (chain_id) where chain_id is not null;

-- Counters: what happened to jobs, per type and minute. A transaction appends changes, so no transaction waits for the
-- row of another. Pruning adds them up in the tables below.
create table "holdfast".counter_change (
    seq bigint generated always as identity primary key,
    wait_total bigint,
    run_total bigint,
    at bigint,
    number bigint not null,
    minute integer not null,
    type text collate "C" not null,
    kind text collate "C" not null,
    -- One letter per attempt: the bucket of its duration.
    waits text collate "C",
    runs text collate "C",
    -- Of failures: the group of the error, what describes it, and one of the jobs.
    fingerprint text collate "C",
    summary text,
    example text collate "C"
);

-- The minute 0 has the totals since the tables were created. A histogram is a JSON array, one number per bucket.
create table "holdfast".counter (
    minute integer not null,
    type text collate "C" not null,
    started bigint not null,
    completed bigint not null,
    failed bigint not null,
    retried bigint not null,
    reaped bigint not null,
    rescheduled bigint not null,
    cancelled bigint not null,
    waits text not null,
    wait_total bigint not null,
    runs text not null,
    run_total bigint not null,
    primary key (minute, type)
);

create table "holdfast".error_group (
    fingerprint text collate "C" primary key,
    type text collate "C" not null,
    summary text not null,
    first_at bigint not null,
    last_at bigint not null,
    example text collate "C" not null
);

-- The minute 0 has the totals of the group.
create table "holdfast".error_count (
    minute integer not null,
    fingerprint text collate "C" not null,
    failed bigint not null,
    retried bigint not null,
    primary key (minute, fingerprint)
);

-- One row: the transaction that locks it adds up the counters.
create table "holdfast".counter_lock (present boolean primary key);
insert into "holdfast".counter_lock (present) values (true);

-- The bucket of a duration, as in `"holdfast".core.counters`.
create function "holdfast".bucket(micros bigint) returns text language sql immutable parallel safe
    as $$ select chr(97 + width_bucket(micros - 1, '{5000,10000,25000,50000,100000,250000,500000,1000000,2500000,5000000,10000000,30000000,60000000,300000000,1800000000,7200000000}'::bigint[])) $$;

-- Limits, rates and orders. A lane is one key of one of them: its name, the character 31, and the key.
create table "holdfast".limits (
    name text collate "C" primary key,
    kind text not null,
    declared bigint not null,
    per bigint not null,
    burst bigint not null,
    -- Set by an operator.
    override bigint
);

create table "holdfast".lane (
    lane text collate "C" primary key,
    -- Of a rate: the theoretical arrival time of the next attempt (GCRA).
    tat bigint not null default 0,
    override bigint,
    -- When to read the tracks that are parked here again.
    wake_at bigint,
    -- The reservation of a rate: the track, the priority and the time of the job that waits for its weight, as JSON.
    hold text
) with (fillfactor = 70);
create index lane_wake on "holdfast".lane (wake_at) where wake_at is not null;

-- A claim reads tracks that are not parked and whose time has come. Tracks with a lower turn come first.
-- The ids of the tracks with the same lane for fairness begin with the same 16 digits.
create table "holdfast".track (
    track text collate "C" primary key,
    type text collate "C" not null,
    priority bigint not null,
    fair text collate "C" not null,
    lanes text not null,
    turn bigint not null,
    -- 0 if a claim should read it now, else the due time of its first job.
    ready_at bigint not null default 0,
    -- The lane that it waits for.
    parked text collate "C"
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index track_ready on "holdfast".track (type, ready_at, priority desc, turn) where parked is null;
create index track_parked on "holdfast".track (parked, type, priority desc, turn) where parked is not null;

-- The running jobs that hold a lane, except jobs with one limit or order and no other lane: those hold `job.lane`.
-- The triggers delete the rows when the job is no longer running.
create table "holdfast".permit (
    lane text collate "C" not null,
    job bigint not null,
    primary key (lane, job)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index permit_job on "holdfast".permit (job);

-- The chains that have a place in an order. The lowest position is next.
create table "holdfast".place (
    lane text collate "C" not null,
    position bigint not null,
    chain_id text collate "C" not null,
    -- Whether a failed job keeps its place.
    hold boolean not null,
    -- Whether the place is kept until the chain ends.
    chain boolean not null,
    primary key (lane, position)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index place_chain on "holdfast".place (chain_id);

-- Lanes and tracks that the next claim reads again. Starts and settlements only add rows here, so that they lock no lane.
-- A row has either lanes, or the tracks of new jobs. Those of lanes are read first, however many jobs are new.
-- A statement adds one row for all its jobs: each row costs an index entry, which claims read until the next vacuum.
create table "holdfast".lane_change (
    seq bigint generated always as identity,
    new boolean not null generated always as (tracks is not null) stored,
    -- The number of lanes or tracks.
    size integer not null default 1,
    lanes text[] collate "C",
    -- How much of a rate was not used.
    refund bigint,
    tracks text[] collate "C",
    -- Of each track, the details of one of its jobs.
    details text[],
    primary key (new, seq)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

create function "holdfast".lane_rules(details text)
    returns table (lane text, kind text, number bigint, per bigint, burst bigint, weight bigint, hold boolean, chain boolean)
    language sql immutable parallel safe as $$
    select rule ->> 'lane', rule ->> 'kind', coalesce((rule ->> 'number')::bigint, 1), coalesce((rule ->> 'per')::bigint, 0),
           coalesce((rule ->> 'burst')::bigint, 1), coalesce((rule ->> 'weight')::bigint, 1),
           coalesce((rule ->> 'hold')::boolean, true), coalesce((rule ->> 'chain')::boolean, false)
      from json_array_elements(details::json -> 'lanes' -> 'rules') rule $$;

-- Give the job, and the places that its chain keeps, a row each. `insert` skips places that exist.
-- plpgsql keeps the plan of its statement for the session. The server plans a function in SQL at every call.
create function "holdfast".take_places(job_seq bigint, job_chain text, job_details text, whole_chain boolean)
    returns void language plpgsql volatile as $$
begin
    insert into "holdfast".place (lane, position, chain_id, hold, chain)
    select rule.lane, case when rule.chain then first.seq else job_seq end, job_chain, rule.hold, rule.chain
      from "holdfast".lane_rules(job_details) rule, "holdfast".job first
     where rule.kind = 'order' and first.id = job_chain and (rule.chain or not whole_chain)
        on conflict do nothing;
end $$;

-- Raise an error if lanes are out of range. Returns whether one of them is an order.
create function "holdfast".check_lanes(details text) returns boolean language plpgsql immutable as $$
declare
    rule record;
    ordered boolean := false;
begin
    for rule in select * from "holdfast".lane_rules(details) loop
        if rule.lane is null or rule.lane !~ '^[^\x1f]{1,200}\x1f' or rule.kind not in ('limit', 'rate', 'order')
           or rule.number < 0 or rule.burst < 1 or rule.weight < 0 or rule.weight > rule.burst
           or rule.kind = 'rate' and rule.per < 1 then
            raise exception 'the lanes are out of range' using errcode = '22023';
        end if;
        ordered := ordered or rule.kind = 'order';
    end loop;
    if details::json -> 'lanes' ->> 'fair' is null then
        raise exception 'the lanes are incomplete' using errcode = '22023';
    end if;
    return ordered;
end $$;

-- Check the lanes of a new job, and write its places. Called by the statement that inserts jobs: the condition of a
-- trigger would be prepared for each insert, also of jobs without lanes. Returns true.
create function "holdfast".enter_lanes(job_seq bigint, job_chain text, job_index integer, job_details text)
    returns boolean language plpgsql volatile as $$
begin
    if "holdfast".check_lanes(job_details) then
        perform "holdfast".take_places(job_seq, job_chain, job_details, false);
    end if;
    -- The first job of a chain changes no order for other tracks: it comes last. The statement records the track of the job.
    if job_index > 0 then
        insert into "holdfast".lane_change (lanes) select array[place.lane] from "holdfast".place where place.chain_id = job_chain;
    end if;
    return true;
end $$;

create function "holdfast".lanes_updated() returns trigger language plpgsql as $$
declare
    -- Most jobs have no order. The text may also be part of a key: then the chain has no places.
    ordered boolean := new.in_order or strpos(new.details, 'order') > 0;
begin
    if old.status = 'running' and new.status <> 'running' then
        if old.lane is not null then
            insert into "holdfast".lane_change (lanes) values (array[old.lane]);
        else
            with freed as (
                delete from "holdfast".permit where permit.job = old.seq returning permit.lane
            )
            insert into "holdfast".lane_change (lanes) select array[freed.lane] from freed;
        end if;
        -- The job was released before its handler began: its rates do not count the attempt.
        if old.counted = old.attempt and new.counted is null then
            insert into "holdfast".lane_change (lanes, refund)
            select array[rule.lane], rule.weight from "holdfast".lane_rules(new.details) rule where rule.kind = 'rate';
        end if;
    end if;
    if new.status <> old.status and (old.status in ('failed', 'cancelled')
       or ordered and exists (select 1 from "holdfast".place where place.chain_id = new.chain_id)) then
        insert into "holdfast".lane_change (lanes) select array[place.lane] from "holdfast".place where place.chain_id = new.chain_id;
        if new.status in ('completed', 'failed', 'cancelled') then
            -- A claim may have put off its track until it is due.
            insert into "holdfast".lane_change (tracks, details)
            select array[old.track], array[old.details] where old.track is not null and old.status = 'pending';
            -- It leaves its orders, unless it failed and holds them, or its chain goes on and spans them.
            update "holdfast".job set in_order = true
             where new.status = 'completed' and job.chain_id = new.chain_id and job.chain_index = new.chain_index + 1
               and job.chain_index > 0
               and exists (select 1 from "holdfast".place where place.chain_id = new.chain_id and place.chain);
            delete from "holdfast".place
             where place.chain_id = new.chain_id and (place.chain or place.position = new.seq)
               and (new.status = 'cancelled' or new.status = 'failed' and not place.hold
                    or new.status = 'completed'
                       and not (place.chain and exists (select 1 from "holdfast".job next
                                                         where next.chain_id = new.chain_id and next.chain_index > 0
                                                           and next.chain_index = new.chain_index + 1)));
        elsif old.status in ('failed', 'cancelled') then
            if new.track is not null then
                perform "holdfast".take_places(new.seq, new.chain_id, new.details, false);
            end if;
            perform "holdfast".take_places(first.seq, new.chain_id, first.details, true)
               from "holdfast".job first where first.id = new.chain_id and first.track is not null;
            insert into "holdfast".lane_change (lanes)
            select array[place.lane] from "holdfast".place where place.chain_id = new.chain_id;
        end if;
    end if;
    if new.track is not null and new.status = 'pending' then
        insert into "holdfast".lane_change (tracks, details) values (array[new.track], array[new.details]);
        if ordered then
            insert into "holdfast".lane_change (lanes) select array[place.lane] from "holdfast".place where place.chain_id = new.chain_id;
        end if;
    end if;
    return null;
end $$;

create function "holdfast".lanes_deleted() returns trigger language plpgsql as $$
begin
    insert into "holdfast".lane_change (lanes)
    select array[permit.lane] from "holdfast".permit where permit.job = old.seq
    union
    select array[old.lane] where old.lane is not null and old.status = 'running'
    union
    select array[place.lane] from "holdfast".place where place.chain_id = old.chain_id;
    insert into "holdfast".lane_change (tracks, details)
    select array[old.track], array[old.details] where old.track is not null and old.status = 'pending';
    delete from "holdfast".permit where permit.job = old.seq;
    delete from "holdfast".place where place.chain_id = old.chain_id and (place.chain or place.position = old.seq);
    return null;
end $$;

-- A chain that has not begun may take the lanes of another start. It keeps its position.
create function "holdfast".lanes_replaced() returns trigger language plpgsql as $$
begin
    insert into "holdfast".lane_change (tracks, details)
    select array[old.track], array[old.details] where old.track is not null and old.status = 'pending';
    insert into "holdfast".lane_change (lanes) select array[place.lane] from "holdfast".place where place.chain_id = new.chain_id;
    delete from "holdfast".place where place.chain_id = new.chain_id;
    if new.track is not null then
        perform "holdfast".check_lanes(new.details);
        perform "holdfast".take_places(new.seq, new.chain_id, new.details, false);
        insert into "holdfast".lane_change (lanes) select array[place.lane] from "holdfast".place where place.chain_id = new.chain_id;
        if new.status = 'pending' then
            insert into "holdfast".lane_change (tracks, details) values (array[new.track], array[new.details]);
        end if;
    end if;
    return null;
end $$;

-- A claim writes the lanes of its jobs itself. So does a statement that completes a job and sets its lane to null.
create trigger lanes_updated after update of status, scheduled_at, track, counted on "holdfast".job
    for each row when ((new.track is not null or new.in_order) and new.status <> 'running'
                       and not (new.status = 'completed' and old.lane is not null and new.lane is null))
    execute function "holdfast".lanes_updated();
create trigger lanes_replaced after update of debounced_at on "holdfast".job
    for each row when (old.track is not null or new.track is not null) execute function "holdfast".lanes_replaced();
create trigger lanes_deleted after delete on "holdfast".job
    for each row when (old.track is not null or old.in_order) execute function "holdfast".lanes_deleted();

-- A schedule is bytes for the store, except for what its statements need. ticks_at is null if it is not ticked.
create table "holdfast".schedule (
    name text collate "C" primary key,
    version text collate "C" not null,
    type text collate "C" not null,
    ticks_at bigint,
    body bytea not null
) with (fillfactor = 70);
create index schedule_ticks on "holdfast".schedule (type, ticks_at) where ticks_at is not null;

-- The steps of handlers. A row without finished_at is open: a sleep or receive that suspended the job, or a cursor.
create table "holdfast".step (
    started_at bigint not null,
    finished_at bigint,
    -- When a sleep ends; the deadline of a receive.
    wake_at bigint,
    attempt bigint not null,
    number integer not null,
    epoch integer not null,
    job_id text collate "C" not null,
    name text collate "C" not null,
    each text collate "C" not null,
    kind text not null,
    -- JSON. Of a cursor: its position.
    result bytea,
    error bytea,
    primary key (job_id, name, each)
) with (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

-- Messages to chains. A row without a value is a wait: the job was suspended by the claim with this token. The wait counts
-- while the job is pending with the same token.
create table "holdfast".message (
    sent_at bigint,
    chain_id text collate "C" not null,
    name text collate "C" not null,
    job_id text collate "C",
    token text collate "C",
    value bytea,
    primary key (chain_id, name)
);

create function "holdfast".start_moment() returns table (_1 bigint, _2 boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query select clock.now, exists (select 1 from "holdfast".listener where listener.until > clock.now) from (select "holdfast".clock(null::bigint) as now offset 0) clock;
end $function$;
revoke all on function "holdfast".start_moment() from public;

create function "holdfast".start_insert_job(text, text, bigint, bigint, bigint, bigint, bigint, bigint, bigint, text, text, bytea) returns table (_1 bigint[], _2 bigint, _3 boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    if exists (select 1 from (select $1) given (value) where not (char_length(value) between 1 and 512)) then raise exception 'id is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $2) given (value) where not (char_length(value) between 1 and 512)) then raise exception 'type is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $3) given (value) where not (value between -2147483648 and 2147483647)) then raise exception 'priority is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $4) given (value) where not (value between -1000000000000000000 and 1000000000000000000)) then raise exception 'at is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $5) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'delay is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $6) given (value) where not (value between 0 and 2147483647)) then raise exception 'max_attempts is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $7) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'timeout is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $8) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'keep is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $9) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'dedup_for is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $11) given (value) where not (value in ('wait', 'fail', 'when_failed', 'when_ended'))) then raise exception 'on_blocker_failure is out of range' using errcode = '22023'; end if;
    return query with created as ( insert into "holdfast".job (id, type, chain_id, status, priority, created_at, scheduled_at, max_attempts, timeout, keep, dedup_for, details, on_blocker_failure, input) select $1::text, $2::text, $1::text, 'pending', $3::bigint, clock.now, greatest(clock.now, coalesce($4::bigint, clock.now + $5::bigint)), $6::bigint, $7::bigint, $8::bigint, $9::bigint, $10::text, $11::text, $12::bytea from (select "holdfast".clock(null::bigint) as now offset 0) clock on conflict (id) do nothing returning seq, created_at ), counted as ( insert into "holdfast".tally (type, jobs, minute) select $2::text, 1, created.created_at / 60000000 from created ) select array[created.seq], created.created_at, exists (select 1 from "holdfast".listener where listener.until > created.created_at) and "holdfast".record_created(created.created_at, $1::text, $2::text) from created;
end $function$;
revoke all on function "holdfast".start_insert_job(text, text, bigint, bigint, bigint, bigint, bigint, bigint, bigint, text, text, bytea) from public;

create function "holdfast".start_insert_similar_jobs(text, bigint, bigint, bigint, bigint, bigint, bigint, bigint, text, text, text[], bytea[]) returns table (_1 bigint[], _2 bigint, _3 boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    if exists (select 1 from (select $1) given (value) where not (char_length(value) between 1 and 512)) then raise exception 'type is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $2) given (value) where not (value between -2147483648 and 2147483647)) then raise exception 'priority is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $3) given (value) where not (value between -1000000000000000000 and 1000000000000000000)) then raise exception 'at is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $4) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'delay is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $5) given (value) where not (value between 0 and 2147483647)) then raise exception 'max_attempts is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $6) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'timeout is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $7) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'keep is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $8) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'dedup_for is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $10) given (value) where not (value in ('wait', 'fail', 'when_failed', 'when_ended'))) then raise exception 'on_blocker_failure is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($11) given (value) where not (char_length(value) between 1 and 512)) then raise exception 'ids is out of range' using errcode = '22023'; end if;
    return query with clock as materialized ( select "holdfast".clock(null::bigint) as now ), created as ( insert into "holdfast".job (id, type, chain_id, status, priority, created_at, scheduled_at, max_attempts, timeout, keep, dedup_for, details, on_blocker_failure, input) select new.id, $1::text, new.id, 'pending', $2::bigint, clock.now, greatest(clock.now, coalesce($3::bigint, clock.now + $4::bigint)), $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::text, $10::text, new.input from clock, unnest($11::text[], $12::bytea[]) with ordinality new (id, input, place) order by new.place on conflict (id) do nothing returning seq, id ), counted as ( insert into "holdfast".tally (type, jobs, minute) select $1::text, count(*), clock.now / 60000000 from created, clock group by clock.now ), recorded as ( insert into "holdfast".event (at, kind, job_id, chain_id, type, attempt) select clock.now, 'created', created.id, created.id, $1::text, 0 from created, clock where exists (select 1 from "holdfast".listener where listener.until > clock.now) order by created.seq ) select array(select created.seq from created order by created.seq), clock.now, exists (select 1 from "holdfast".listener where listener.until > clock.now) from clock;
end $function$;
revoke all on function "holdfast".start_insert_similar_jobs(text, bigint, bigint, bigint, bigint, bigint, bigint, bigint, text, text, text[], bytea[]) from public;

create function "holdfast".start_insert_jobs(text[], text[], bytea[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], text[], int[], int[], boolean[], text[], text[], text[], int[], text[]) returns table (_1 bigint[], _2 bigint, _3 boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    if exists (select 1 from unnest($1) given (value) where not (char_length(value) between 1 and 512)) then raise exception 'ids is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($2) given (value) where not (char_length(value) between 1 and 512)) then raise exception 'types is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($4) given (value) where not (value between -2147483648 and 2147483647)) then raise exception 'priorities is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($5) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'delays is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($6) given (value) where not (value between -1000000000000000000 and 1000000000000000000)) then raise exception 'ats is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($7) given (value) where not (value between 0 and 2147483647)) then raise exception 'max_attempts is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($8) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'timeout is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($9) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'keep is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($10) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'dedup_for is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($11) given (value) where not (char_length(value) between 1 and 512)) then raise exception 'keys is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($13) given (value) where not (value between 0 and 2147483647)) then raise exception 'blockers is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($14) given (value) where not (value between 0 and 2147483647)) then raise exception 'open_blockers is out of range' using errcode = '22023'; end if;
    if exists (select 1 from unnest($16) given (value) where not (value in ('wait', 'fail', 'when_failed', 'when_ended'))) then raise exception 'on_blocker_failures is out of range' using errcode = '22023'; end if;
    return query with clock as materialized ( select "holdfast".clock(null::bigint) as now ), listening as materialized ( select exists (select 1 from "holdfast".listener, clock where listener.until > clock.now) as present ), created as ( insert into "holdfast".job (id, type, chain_id, chain_index, status, priority, key, created_at, scheduled_at, max_attempts, timeout, keep, dedup_for, details, blockers, open_blockers, awaited, on_blocker_failure, track, input) select new.id, new.type, coalesce(new.chain_id, new.id), coalesce(new.chain_index, 0), case when new.open_blockers > 0 then 'blocked' else 'pending' end, coalesce(new.priority, 0), new.key, clock.now, greatest(clock.now, coalesce(new.at, clock.now + coalesce(new.delay, 0))), new.max_attempts, new.timeout, new.keep, new.dedup_for, new.details, coalesce(new.blockers, 0), coalesce(new.open_blockers, 0), coalesce(new.awaited, false), coalesce(new.on_blocker_failure, 'wait'), new.track, new.input from clock, unnest($1::text[], $2::text[], $3::bytea[], '{}'::text[], '{}'::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::int[], $14::int[], $15::boolean[], $16::text[], $17::text[]) with ordinality new (id, type, input, chain_id, chain_index, priority, delay, at, max_attempts, timeout, keep, dedup_for, key, details, blockers, open_blockers, awaited, on_blocker_failure, track, place) order by new.place on conflict (id) do nothing returning seq, id, chain_id, chain_index, type, track, status = 'pending' as pending, details ), entered as ( insert into "holdfast".lane_change (tracks, details, size) select array_agg(first.track order by first.seq), array_agg(first.details order by first.seq), count(*) from (select distinct on (created.track) created.track, created.details, created.seq from created where created.track is not null and created.pending order by created.track, created.seq) first where cardinality($17::text[]) > 0 having count(*) > 0 ), named as ( insert into "holdfast".blocker (job_id, position, chain_id) select created.id, named.position, named.chain_id from unnest($18::text[], $19::int[], $20::text[]) named (job_id, position, chain_id) join created on created.id = named.job_id where cardinality($18::text[]) > 0 ), counted as ( insert into "holdfast".tally (type, jobs, minute) select created.type, count(*), clock.now / 60000000 from created, clock group by created.type, clock.now ), recorded as ( insert into "holdfast".event (at, kind, job_id, chain_id, type, attempt) select clock.now, 'created', created.id, created.chain_id, created.type, 0 from created, clock, listening where listening.present order by created.seq ) select array(select created.seq from created where created.track is null or "holdfast".enter_lanes(created.seq, created.chain_id, created.chain_index, created.details) order by created.seq), clock.now, listening.present from clock cross join listening;
end $function$;
revoke all on function "holdfast".start_insert_jobs(text[], text[], bytea[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], text[], text[], int[], int[], boolean[], text[], text[], text[], int[], text[]) from public;

create function "holdfast".start_find_ids(text[]) returns table (_1 text, _2 text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query select job.id, job.chain_id from "holdfast".job where job.id = any($1::text[]);
end $function$;
revoke all on function "holdfast".start_find_ids(text[]) from public;

create function "holdfast".start_find_keys(text[], text[], bigint[], text[], text[], bigint) returns table (_1 bigint, _2 text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query select wanted.place, found.id from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[]) with ordinality wanted (type, key, since, scope, exclude, place) cross join lateral ( select first.id from "holdfast".job first left join lateral ( select tail.status, tail.expires_at, tail.finished_at from "holdfast".job tail where tail.chain_id = first.id and tail.chain_index > 0 order by tail.chain_index desc limit 1) last on true where first.key = wanted.key and first.type = wanted.type and first.chain_index = 0 and (wanted.since is null or first.created_at > wanted.since) and (wanted.exclude is null or first.id <> all (string_to_array(wanted.exclude, chr(31)))) and (wanted.scope = 'any' or coalesce(last.status, first.status) in ('blocked', 'pending', 'running') and (wanted.scope <> 'waiting' or first.status in ('blocked', 'pending') and not exists (select 1 from "holdfast".step where step.job_id = first.id)) or wanted.scope = 'successful' and coalesce(last.status, first.status) = 'completed' and coalesce(case when first.dedup_for is not null then coalesce(last.finished_at, first.finished_at) + first.dedup_for when last.status is null then first.expires_at else last.expires_at end > $6::bigint, true)) order by first.seq desc limit 1) found;
end $function$;
revoke all on function "holdfast".start_find_keys(text[], text[], bigint[], text[], text[], bigint) from public;

create function "holdfast".start_find_replaced(text[], text[], text[]) returns table (_1 bigint, _2 text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query select wanted.place, first.id from unnest($1::text[], $2::text[], $3::text[]) with ordinality wanted (id, type, key, place) join "holdfast".job first on first.key = wanted.key and first.type = wanted.type and first.chain_index = 0 where first.replaced_by = wanted.id;
end $function$;
revoke all on function "holdfast".start_find_replaced(text[], text[], text[]) from public;

create function "holdfast".start_forget_blockers(text, text, text, boolean, text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    delete from "holdfast".blocker where blocker.job_id = $1::text and exists (select 1 from "holdfast".job where job.id = $1::text and job.chain_index = 0 and job.type = $2::text and job.key = $3::text and job.status in ('pending', 'blocked') and (not $4::boolean or job.replaced_by is distinct from $5::text));
end $function$;
revoke all on function "holdfast".start_forget_blockers(text, text, text, boolean, text) from public;

create function "holdfast".start_replace_chain(int, bytea, bigint, bigint, bigint, bigint, bigint, text, text, text, text[], text, bigint, bigint, bigint, text, text, text, boolean) returns table (_1 bigint, _2 bigint, _3 boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    if exists (select 1 from (select $1) given (value) where not (value between 0 and 2147483647)) then raise exception 'open_blockers is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $3) given (value) where not (value between -2147483648 and 2147483647)) then raise exception 'priority is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $4) given (value) where not (value between 0 and 2147483647)) then raise exception 'max_attempts is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $5) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'timeout is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $6) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'keep is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $7) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'dedup_for is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $9) given (value) where not (value in ('wait', 'fail', 'when_failed', 'when_ended'))) then raise exception 'on_blocker_failure is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $13) given (value) where not (value between -1000000000000000000 and 1000000000000000000)) then raise exception 'at is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $14) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'delay is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $15) given (value) where not (value between 0 and 3162240000000000)) then raise exception 'due_within is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $16) given (value) where not (char_length(value) between 1 and 512)) then raise exception 'id is out of range' using errcode = '22023'; end if;
    if exists (select 1 from (select $17) given (value) where not (char_length(value) between 1 and 512)) then raise exception 'type is out of range' using errcode = '22023'; end if;
    return query with clock as materialized ( select "holdfast".clock(null::bigint) as now ), listening as materialized ( select exists (select 1 from "holdfast".listener, clock where listener.until > clock.now) as present ), replaced as ( update "holdfast".job set status = case when $1::int > 0 then 'blocked' else 'pending' end, input = $2::bytea, priority = $3::bigint, max_attempts = $4::bigint, timeout = $5::bigint, keep = $6::bigint, dedup_for = $7::bigint, details = $8::text, on_blocker_failure = $9::text, track = $10::text, lane = null, blockers = cardinality($11::text[]), open_blockers = $1::int, attempt = 0, error = null, progress = null, progress_note = null, started_at = null, mismatches = null, mismatched_at = null, counted = null, replaced_by = $12::text, debounced_at = case when job.attempt > 0 then clock.now else job.debounced_at end, scheduled_at = greatest(clock.now, least( coalesce($13::bigint, clock.now + $14::bigint), $15::bigint + case when job.attempt > 0 then clock.now else coalesce(job.debounced_at, job.created_at) end)) from clock where job.id = $16::text and job.chain_index = 0 and job.type = $17::text and job.key = $18::text and job.status in ('pending', 'blocked') and (not $19::boolean or job.replaced_by is distinct from $12::text) returning job.seq, job.id, job.type ), named as ( insert into "holdfast".blocker (job_id, position, chain_id) select replaced.id, named.place - 1, named.chain_id from replaced, unnest($11::text[]) with ordinality named (chain_id, place) ), recorded as ( insert into "holdfast".event (at, kind, job_id, chain_id, type, attempt) select clock.now, 'replaced', replaced.id, replaced.id, replaced.type, 0 from replaced, clock, listening where listening.present ) select replaced.seq, clock.now, listening.present from replaced, clock, listening;
end $function$;
revoke all on function "holdfast".start_replace_chain(int, bytea, bigint, bigint, bigint, bigint, bigint, text, text, text, text[], text, bigint, bigint, bigint, text, text, text, boolean) from public;

create function "holdfast".start_lock_keys(text[], text[]) returns table (_1 integer)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query with clock as materialized ( select "holdfast".clock(null::bigint) as now ) insert into "holdfast".key (type, key, used_at) select wanted.type, wanted.key, clock.now from clock, unnest($1::text[], $2::text[]) wanted (type, key) order by wanted.type, wanted.key on conflict (type, key) do update set used_at = excluded.used_at returning 1;
end $function$;
revoke all on function "holdfast".start_lock_keys(text[], text[]) from public;

create function "holdfast".start_lock_jobs(bigint, bigint, bigint[], bigint[]) returns table (_1 bigint, _2 boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query with ended as materialized ( select count(*) as sessions from "holdfast".end_lost_attempts(array[coalesce($1::bigint, $2::bigint)], null::bigint) where coalesce($1::bigint, $2::bigint) is not null ), waited_for as materialized ( select job.seq from "holdfast".job where job.seq = $1::bigint and (select ended.sessions from ended) >= 0 for update ), waited_for_kept as materialized ( select job.seq from "holdfast".job where job.seq = $2::bigint and (select ended.sessions from ended) >= 0 for no key update ), free as materialized ( select job.seq from "holdfast".job where job.seq = any($3::bigint[]) and (select count(*) from waited_for) + (select count(*) from waited_for_kept) >= 0 order by job.seq for update skip locked ), kept as materialized ( select job.seq from "holdfast".job where job.seq = any($4::bigint[]) and (select count(*) from free) >= 0 order by job.seq for no key update skip locked ) select free.seq, true from free union all select kept.seq, false from kept;
end $function$;
revoke all on function "holdfast".start_lock_jobs(bigint, bigint, bigint[], bigint[]) from public;

create function "holdfast".start_tails(text[]) returns table (_1 text, _2 bigint, _3 text, _4 text, _5 boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query select last.chain_id, last.seq, last.id, last.status, last.awaited from unnest($1::text[]) wanted (id) cross join lateral ( (select job.chain_id, job.seq, job.id, job.status, job.awaited from "holdfast".job where job.chain_id = wanted.id and job.chain_index > 0 order by job.chain_index desc limit 1) union all (select job.chain_id, job.seq, job.id, job.status, job.awaited from "holdfast".job where job.id = wanted.id and job.chain_index = 0) limit 1) last;
end $function$;
revoke all on function "holdfast".start_tails(text[]) from public;

create function "holdfast".start_await(bigint[]) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    update "holdfast".job set awaited = true where job.seq = any($1::bigint[]);
end $function$;
revoke all on function "holdfast".start_await(bigint[]) from public;

create function "holdfast".start_fail_blocked(bytea, bigint, bigint[]) returns table (_1 bigint, _2 text, _3 text, _4 text, _5 bigint, _6 text, _7 boolean, _8 boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query with failed as ( update "holdfast".job set status = 'failed', error = $1::bytea, finished_at = $2::bigint, expires_at = $2::bigint + job.keep, fingerprint = 'BlockerFailed:' || job.type where job.seq = any($3::bigint[]) and job.status || '' = 'blocked' and job.on_blocker_failure = 'fail' and exists (select 1 from "holdfast".blocker join "holdfast".job ended on ended.chain_id = blocker.chain_id where blocker.job_id = job.id and ended.status in ('failed', 'cancelled')) returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker, job.awaited, job.fingerprint, job.details is not null as detailed ), counters as ( insert into "holdfast".counter_change (type, minute, kind, number, fingerprint, summary, example, at) select failed.type, $2::bigint / 60000000, 'failed', count(*), failed.fingerprint, '["BlockerFailed","a blocker did not complete",""]', (array_agg(failed.id order by failed.seq desc))[1], $2::bigint from failed group by failed.type, failed.fingerprint ) select failed.seq, failed.id, failed.chain_id, failed.type, failed.attempt, failed.worker, failed.awaited, failed.detailed from failed;
end $function$;
revoke all on function "holdfast".start_fail_blocked(bytea, bigint, bigint[]) from public;

create function "holdfast".start_cancel_waiting(bytea, bigint, bigint[]) returns table (_1 bigint, _2 text, _3 text, _4 text, _5 boolean)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query with cancelled as ( update "holdfast".job set status = 'cancelled', error = $1::bytea, open_blockers = 0, finished_at = $2::bigint, expires_at = $2::bigint + job.keep where job.seq = any($3::bigint[]) and job.status || '' = 'blocked' and job.on_blocker_failure = 'when_failed' and not exists (select 1 from "holdfast".blocker join "holdfast".job other on other.chain_id = blocker.chain_id where blocker.job_id = job.id and other.status <> 'completed') returning job.seq, job.id, job.chain_id, job.type, job.awaited ), counters as ( insert into "holdfast".counter_change (type, minute, kind, number) select cancelled.type, $2::bigint / 60000000, 'cancelled', count(*) from cancelled group by cancelled.type ) select cancelled.seq, cancelled.id, cancelled.chain_id, cancelled.type, cancelled.awaited from cancelled;
end $function$;
revoke all on function "holdfast".start_cancel_waiting(bytea, bigint, bigint[]) from public;

create function "holdfast".start_record_events(bigint[], text[], text[], text[], text[], bigint[], text[]) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    insert into "holdfast".event (at, kind, job_id, chain_id, type, attempt, worker) select happened.at, happened.kind, happened.job_id, happened.chain_id, happened.type, happened.attempt, happened.worker from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[]) with ordinality happened (at, kind, job_id, chain_id, type, attempt, worker, place) where happened.kind in ('failed', 'cancelled') and exists (select 1 from "holdfast".job where job.id = happened.job_id and job.chain_id = happened.chain_id and job.type = happened.type and job.status = happened.kind and job.finished_at = happened.at) order by happened.place;
end $function$;
revoke all on function "holdfast".start_record_events(bigint[], text[], text[], text[], text[], bigint[], text[]) from public;

create function "holdfast".start_chains(text[]) returns table (_1 "holdfast".record, _2 "holdfast".record)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query select jsonb_populate_record(row(first.*)::"holdfast".record, '{"token": null}'), jsonb_populate_record(row(last.*)::"holdfast".record, '{"token": null}') from "holdfast".record first left join lateral ( select tail.* from "holdfast".record tail where tail.chain_id = first.id and tail.chain_index > 0 order by tail.chain_index desc limit 1) last on true where first.id = any($1::text[]) and first.chain_index = 0;
end $function$;
revoke all on function "holdfast".start_chains(text[]) from public;

create function "holdfast".start_mark(text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    insert into "holdfast".mark (id) values ($1::text);
end $function$;
revoke all on function "holdfast".start_mark(text) from public;

create function "holdfast".start_find_marks(text[], text[]) returns table (_1 text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $function$
begin
    return query with forgotten as ( delete from "holdfast".mark where mark.id = any($1::text[]) ) select mark.id from "holdfast".mark where mark.id = any($2::text[]);
end $function$;
revoke all on function "holdfast".start_find_marks(text[], text[]) from public;

$migration$;
insert into "holdfast".migration (number, name) values (1, '0001_jobs');
end if;
perform set_config('lock_timeout', previous_timeout, true);
end $holdfast$;

