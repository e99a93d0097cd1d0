-- 0001_jobs: the tables of the first release.
-- Times are microseconds since 1970. Payloads are the exact bytes that the codec wrote.

-- The large columns come last: SQLite reads a row from the front, and columns after a payload are slow to read.
create table holdfast_job (
    -- Not autoincrement: every start would change one more page. `holdfast_deleted_seq` prevents that a seq is used twice.
    seq integer primary key,
    id text not null unique,
    type text not null,
    chain_id text not null,
    chain_index integer not null,
    status text not null,
    priority integer not null,
    attempt integer not null default 0,
    max_attempts integer,
    key text,
    worker text,
    token text,
    leased_until integer,
    renewed_at integer,
    progress real,
    progress_note text,
    created_at integer not null,
    scheduled_at integer not null,
    started_at integer,
    finished_at integer,
    timeout integer,
    keep integer,
    -- Of the first job of a chain: how long its key is taken after the chain was completed; null: while it is kept.
    dedup_for integer,
    -- JSON of the values that no statement filters or changes; null if there are none.
    details text,
    blockers integer not null default 0,
    open_blockers integer not null default 0,
    on_blocker_failure text not null,
    -- Set while the last attempt ended because its worker could not decode the input: how many in a row, since when.
    mismatches integer,
    mismatched_at integer,
    -- Only for the last job of a finished chain: when the chain may be pruned.
    expires_at integer,
    -- Of a failed job: the group of its error. An earlier failure may have left a value in jobs with another status.
    fingerprint text,
    -- Jobs of a type and priority that have the same limits, rates and orders are in one track.
    track text,
    -- The number of its track while the job is pending. Otherwise it may be the number of a track that was deleted since.
    track_seq integer,
    -- Of a job with rates: the number of the attempt that they have counted.
    counted integer,
    -- 1 if an earlier job of the chain holds an order until the chain ends.
    in_order integer,
    -- The lane that the job holds while it is running, if it has one limit or order and no other lane.
    lane text,
    -- Of a chain that another start replaced after an attempt: when. `debounce_max` counts from then.
    debounced_at integer,
    input blob not null,
    output blob,
    error blob
);

-- Few indexes, and most of them partial: every index costs time for each started job.
-- Equal entries are in the order of seq, as in every index of SQLite.
-- The status is a column of the index, although all its entries have the same status. Otherwise SQLite reads the
-- table for each row that it counts.
-- Jobs with lanes have a track, so that claims of other jobs do not read them. Its number, because the tracks that a claim
-- reads were mostly created together: their jobs are then on few pages. By track they would be on as many pages as tracks.
create index holdfast_job_due on holdfast_job (status, type, track_seq, priority desc, scheduled_at) where status = 'pending';
create index holdfast_job_leased on holdfast_job (status, type, leased_until) where status = 'running';
create index holdfast_job_lane on holdfast_job (lane) where lane is not null and status = 'running';
create unique index holdfast_job_step on holdfast_job (chain_id, chain_index) where chain_index > 0;
create index holdfast_job_key on holdfast_job (key, type) where key is not null;
create index holdfast_job_expires on holdfast_job (expires_at, chain_id) where expires_at is not null;
-- `or` instead of `in`: only then does the planner use this index for `status = 'failed'`.
create index holdfast_job_rare on holdfast_job (status, type)
    where status = 'blocked' or status = 'failed' or status = 'cancelled';
create index holdfast_job_fingerprint on holdfast_job (status, fingerprint) where status = 'failed';

-- The chains that jobs started, by the id of the job: the text after `{"origin":"` up to the next quotation mark.
create index holdfast_job_origin on holdfast_job (substr(details, 12, instr(substr(details, 12), '"') - 1))
    where substr(details, 1, 11) = '{"origin":"';

create table holdfast_blocker (
    job_id text not null,
    position integer not null,
    chain_id text not null,
    primary key (job_id, position)
) without rowid;
create index holdfast_blocker_chain on holdfast_blocker (chain_id);

-- Only attempts that did not complete their job. The row of the job describes the attempt that did.
-- A row with the outcome 'log' is the log of an attempt, with the text as its error.
create table holdfast_attempt (
    seq integer primary key,
    job_id text not null,
    number integer not null,
    worker text,
    started_at integer,
    ended_at integer not null,
    outcome text not null,
    error blob,
    next_at integer
);
create index holdfast_attempt_job on holdfast_attempt (job_id);

create table holdfast_paused (type text primary key) without rowid;

-- The number of jobs per type, so that completed and pending jobs are counted without reading them.
-- A start increases the row of its minute, which the counters use too. The trigger decreases the row of the minute 0,
-- also for a manual DELETE. Pruning adds the minutes to this row.
create table holdfast_tally (
    type text not null,
    minute integer not null,
    jobs integer not null,
    -- How many completed jobs were deleted. The counters have the number of jobs that were ever completed.
    removed integer not null default 0,
    primary key (type, minute)
) without rowid;
-- The highest seq of the deleted jobs, if it was higher than those of all other jobs.
create table holdfast_deleted_seq (
    one integer primary key check (one = 1),
    seq integer not null
);
create trigger holdfast_job_deleted after delete on holdfast_job begin
    insert into holdfast_tally (type, minute, jobs, removed) values (old.type, 0, -1, old.status = 'completed')
        on conflict (type, minute) do update set jobs = jobs - 1, removed = removed + excluded.removed;
    insert into holdfast_deleted_seq (one, seq)
        select 1, old.seq where old.seq > coalesce((select max(seq) from holdfast_job), 0)
        on conflict (one) do update set seq = max(seq, excluded.seq);
end;

create table holdfast_listener (name text primary key, until integer not null) without rowid;
create table holdfast_event (
    seq integer primary key,
    at integer not null,
    kind text not null,
    job_id text not null,
    chain_id text not null,
    type text not null,
    attempt integer not null,
    worker text
);

-- Written in a transaction of the application. A later read of the mark shows whether that transaction committed.
create table holdfast_mark (
    seq integer primary key,
    id text not null unique
);

-- What the last commits have changed, for processes that detect a change of the file.
create table holdfast_hint (
    seq integer primary key,
    source text not null,
    hints blob not null
);

-- A job as the library reads it. Its columns never change: a later release that reads more creates another view.
create view holdfast_record as
select seq, id, type, chain_id, chain_index, status, priority, attempt, max_attempts, input, output, error, key,
       worker, token, leased_until, renewed_at, progress, progress_note, created_at, scheduled_at, started_at,
       finished_at, timeout, keep, details, blockers, open_blockers, on_blocker_failure,
       mismatches, mismatched_at, dedup_for
  from holdfast_job;

-- A job in readable form, for people.
create view holdfast_readable as
select seq, id, type, chain_id, chain_index, status, priority, attempt, max_attempts, key, worker,
       cast(input as text) as input, cast(output as text) as output, cast(error as text) as error,
       datetime(created_at / 1000000, 'unixepoch') as created,
       datetime(scheduled_at / 1000000, 'unixepoch') as scheduled,
       datetime(started_at / 1000000, 'unixepoch') as started,
       datetime(finished_at / 1000000, 'unixepoch') as finished
  from holdfast_job;
