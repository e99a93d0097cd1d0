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
alter table holdfast.job alter column status set statistics 0, alter column track set statistics 0;
-- After a vacuum of an empty queue the planner believes that the partial indexes below are empty, whatever their size is. It would
-- then read all of their entries to find one job by its id. So statements that find jobs by id or seq compare `status || ''`,
-- which no partial index has.

create unique index job_id on holdfast.job (id);
-- Jobs with lanes have a track, so that claims of other jobs do not read them.
create index job_due on holdfast.job (type, track, priority desc, scheduled_at, seq) where status = 'pending';
create index job_leased on holdfast.job (type) where status = 'running';
create index job_lane on holdfast.job (lane) where status = 'running' and lane is not null;
create unique index job_step on holdfast.job (chain_id, chain_index) where chain_index > 0;
create index job_key on holdfast.job (key, type, seq) where key is not null;
create index job_expires on holdfast.job (expires_at, chain_id) where expires_at is not null;
-- Statuses that few jobs have.
create index job_rare on holdfast.job (status, type, seq) where status in ('blocked', 'failed', 'cancelled');
create index job_fingerprint on holdfast.job (fingerprint, seq) where status = 'failed';

-- The chains that jobs started, by the id of the job: the text after `{"origin":"` up to the next quotation mark.
create index job_origin on holdfast.job (split_part(details, '"', 4)) where starts_with(details, '{"origin":"');

create table holdfast.blocker (
    job_id text collate "C" not null,
    position integer not null,
    chain_id text collate "C" not null,
    primary key (job_id, position)
);
create index blocker_chain on holdfast.blocker (chain_id);

-- Only attempts that did not complete their job: the row of the job describes the one that did.
-- A row with the outcome 'log' is the log of an attempt, with the text as its error.
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

-- The number of jobs of each type, as changes to add up. No transaction waits for the row of another, and neither
-- completed nor pending jobs need be read to count them. Pruning adds up old changes.
create table holdfast.tally (
    seq bigint generated always as identity primary key,
    type text collate "C" not null,
    jobs bigint not null,
    -- How many completed jobs were deleted. The counters have the number of jobs that were ever completed.
    removed bigint not null default 0,
    -- Of a start: its minute, for the counters. Null for deletions and sums.
    minute integer
);

-- Also for a manual DELETE.
create function holdfast.count_deleted() returns trigger language plpgsql as $$
begin
    insert into holdfast.tally (type, jobs, removed)
    select deleted.type, -count(*), count(*) filter (where deleted.status = 'completed') from deleted group by deleted.type;
    return null;
end $$;
create trigger count_deleted after delete on holdfast.job
    referencing old table as deleted for each statement execute function holdfast.count_deleted();

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

-- Record that a chain with one job was created. Called only if there is a listener.
create function holdfast.record_created(at bigint, id text, type text) returns boolean language sql volatile
    as $$ insert into holdfast.event (at, kind, job_id, chain_id, type, attempt) values ($1, 'created', $2, $2, $3, 0)
          returning true $$;

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
       finished_at, timeout, keep, details, blockers, open_blockers, on_blocker_failure,
       mismatches, mismatched_at, dedup_for
  from holdfast.job;

-- Bytes as JSON, or null if they are not JSON.
-- Not parallel safe: a block with an exception handler starts a subtransaction, which a parallel query must not.
create function holdfast.as_json(payload bytea) returns json language plpgsql immutable parallel unsafe as $$
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
       progress, progress_note, open_blockers, details,
       holdfast.as_time(created_at) as created_at, holdfast.as_time(scheduled_at) as scheduled_at,
       holdfast.as_time(started_at) as started_at, holdfast.as_time(finished_at) as finished_at,
       holdfast.as_time(leased_until) as leased_until, holdfast.as_time(expires_at) as expires_at
  from holdfast.job;
