create table if not exists holdfast_migration (name text primary key, applied_at integer not null) without rowid;
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

-- What operators changed, each entry written in the transaction of the change.
create table holdfast_audit (
    seq integer primary key,
    at integer not null,
    user text not null,
    action text not null,
    target text not null,
    chain_id text,
    reason text
);
create index holdfast_audit_at on holdfast_audit (at);
create index holdfast_audit_target on holdfast_audit (target);
create index holdfast_audit_chain on holdfast_audit (chain_id) where chain_id is not null;

-- Counters: what happened to jobs, per type and minute. A transaction appends changes; pruning adds them up in the
-- tables below. One insert is cheaper than changing a sum, and the same changes are used on PostgreSQL.
create table holdfast_counter_change (
    seq integer primary key,
    type text not null,
    minute integer not null,
    kind text not null,
    number integer not null,
    -- One letter per attempt: the bucket of its duration.
    waits text,
    runs text,
    wait_total integer not null,
    run_total integer not null,
    -- Of failures: the group of the error, what describes it, and one of the jobs.
    fingerprint text,
    summary text,
    example text,
    at integer not null
);

-- The minute 0 has the totals since the tables were created. A histogram is a JSON array, one number per bucket.
create table holdfast_counter (
    minute integer not null,
    type text not null,
    started integer not null,
    completed integer not null,
    failed integer not null,
    retried integer not null,
    reaped integer not null,
    rescheduled integer not null,
    cancelled integer not null,
    waits text not null,
    wait_total integer not null,
    runs text not null,
    run_total integer not null,
    primary key (minute, type)
) without rowid;

create table holdfast_error_group (
    fingerprint text primary key,
    type text not null,
    summary text not null,
    first_at integer not null,
    last_at integer not null,
    example text not null
) without rowid;

-- The minute 0 has the totals of the group.
create table holdfast_error_count (
    minute integer not null,
    fingerprint text not null,
    failed integer not null,
    retried integer not null,
    primary key (minute, fingerprint)
) without rowid;

-- Limits, rates and orders. A lane is one key of one of them: its name, the character 31, and the key.
create table holdfast_limit (
    name text primary key,
    kind text not null,
    declared integer not null,
    per integer not null,
    burst integer not null,
    -- Set by an operator.
    override integer
) without rowid;

create table holdfast_lane (
    lane text primary key,
    -- Of a rate: the theoretical arrival time of the next attempt (GCRA).
    tat integer not null default 0,
    override integer,
    -- When to read the tracks that are parked here again.
    wake_at integer,
    -- The reservation of a rate: the track, the priority and the time of the job that waits for its weight, as JSON.
    hold text
) without rowid;
create index holdfast_lane_wake on holdfast_lane (wake_at) where wake_at is not null;

-- A claim reads tracks that are not parked and whose time has come. Tracks with a lower turn come first.
-- The ids of the tracks with the same lane for fairness begin with the same 16 digits.
create table holdfast_track (
    -- In the order in which tracks were created: a claim changes the tracks of few pages.
    seq integer primary key,
    track text not null unique,
    type text not null,
    priority integer not null,
    fair text not null,
    lanes text not null,
    -- If the track has one lane, and it is a limit or an order: its kind, and the lane.
    alone text,
    lane text,
    turn integer not null,
    -- 0 if a claim should read it now, else the due time of its first job.
    ready_at integer not null default 0,
    -- The lane that it waits for.
    parked text
);
create index holdfast_track_ready on holdfast_track (type, ready_at, priority desc, turn) where parked is null;
create index holdfast_track_parked on holdfast_track (parked, type, priority desc, turn) where parked is not null;

-- The running jobs that hold a lane, except jobs with one limit or order and no other lane: those hold `holdfast_job.lane`.
-- The triggers delete the rows when the job is no longer running.
create table holdfast_permit (
    lane text not null,
    job integer not null,
    primary key (lane, job)
) without rowid;
create index holdfast_permit_job on holdfast_permit (job);

-- The chains that have a place in an order. The lowest position is next.
create table holdfast_place (
    lane text not null,
    position integer not null,
    chain_id text not null,
    -- Whether a failed job keeps its place.
    hold integer not null,
    -- Whether the place is kept until the chain ends.
    chain integer not null,
    primary key (lane, position)
) without rowid;
create index holdfast_place_chain on holdfast_place (chain_id);

-- Lanes that the next claim reads again.
create table holdfast_lane_change (
    seq integer primary key,
    lane text not null,
    -- How much of a rate was not used.
    refund integer
);

-- turn: the turn of the track that is served or created next. lanes_next: whether a job with lanes is next, at equal priority.
create table holdfast_turn (turn integer not null, lanes_next integer not null);
insert into holdfast_turn (turn, lanes_next) values (0, 0);

-- An insert makes a track ready, and creates it if needed: a job in it has become pending, or is no longer pending.
-- A track stays as it is if a claim reads it already, or if it is parked at a limit or a rate.
create view holdfast_track_change as select track, details from holdfast_job where track is not null;
create trigger holdfast_track_changed instead of insert on holdfast_track_change
    when not exists (select 1 from holdfast_track known
                      where known.track = new.track and known.ready_at = 0
                        and not exists (select 1 from holdfast_place place where place.lane = known.parked)) begin
    insert or ignore into holdfast_limit (name, kind, declared, per, burst)
    select substr(json_extract(value, '$.lane'), 1, instr(json_extract(value, '$.lane'), char(31)) - 1), json_extract(value, '$.kind'),
           coalesce(json_extract(value, '$.number'), 1), coalesce(json_extract(value, '$.per'), 0), coalesce(json_extract(value, '$.burst'), 1)
      from json_each(new.details, '$.lanes.rules');
    insert or ignore into holdfast_lane (lane)
    select json_extract(value, '$.lane') from json_each(new.details, '$.lanes.rules');
    insert into holdfast_track (track, type, priority, fair, lanes, alone, lane, turn)
    select new.track, json_extract(new.details, '$.lanes.type'), json_extract(new.details, '$.lanes.priority'),
           json_extract(new.details, '$.lanes.fair'),
           (select json_group_array(json_extract(value, '$.lane')) from json_each(new.details, '$.lanes.rules')),
           (select case when count(*) = 1 then nullif(max(json_extract(value, '$.kind')), 'rate') end
              from json_each(new.details, '$.lanes.rules')),
           (select case when count(*) = 1 then max(case when json_extract(value, '$.kind') <> 'rate' then json_extract(value, '$.lane') end) end
              from json_each(new.details, '$.lanes.rules')),
           (select turn from holdfast_turn)
     where true
        on conflict (track) do update
       set ready_at = 0,
           parked = case when exists (select 1 from holdfast_place place where place.lane = holdfast_track.parked)
                         then null else parked end;
    update holdfast_turn set turn = turn + 1;
end;

-- A trigger takes a fifth of the time of a settlement even if its condition is false. So the triggers of lanes run only for
-- statements that name track: all that change the status or the due time of a job that may have lanes (`track = track`).
-- Claims do not name track. Completions do not name it for jobs without lanes, nor for jobs with the permit in their row.
-- There is no trigger for inserts: the plan of an insert writes the tracks and the places of jobs with lanes.
create trigger holdfast_lanes_pending after update of track on holdfast_job
    when new.track is not null and new.status = 'pending' begin
    insert into holdfast_track_change (track, details) values (new.track, new.details);
    update holdfast_job set track_seq = (select track.seq from holdfast_track track where track.track = new.track)
     where seq = new.seq and track_seq <> (select track.seq from holdfast_track track where track.track = new.track);
    insert into holdfast_lane_change (lane)
    select place.lane from holdfast_place place where place.chain_id = new.chain_id;
end;

-- A job that was released before its handler began: its rates do not count the attempt.
create trigger holdfast_lanes_refunded after update of counted on holdfast_job
    when old.status = 'running' and old.counted = old.attempt and new.counted is null begin
    insert into holdfast_lane_change (lane, refund)
    select json_extract(rule.value, '$.lane'), coalesce(json_extract(rule.value, '$.weight'), 1)
      from json_each(new.details, '$.lanes.rules') rule
     where json_extract(rule.value, '$.kind') = 'rate';
end;

create trigger holdfast_lanes_released after update of track on holdfast_job
    when old.track is not null and old.status = 'running' and new.status <> 'running' begin
    insert into holdfast_lane_change (lane) select old.lane where old.lane is not null;
    insert into holdfast_lane_change (lane) select permit.lane from holdfast_permit permit where permit.job = old.seq;
    delete from holdfast_permit where job = old.seq;
end;

-- A job that ends leaves its orders, unless it failed and holds them, or its chain goes on and spans them.
create trigger holdfast_lanes_ended after update of track on holdfast_job
    when (new.track is not null or new.in_order = 1) and new.status in ('completed', 'failed', 'cancelled')
     and (old.status = 'pending' or exists (select 1 from holdfast_place place where place.chain_id = new.chain_id)) begin
    insert into holdfast_lane_change (lane)
    select place.lane from holdfast_place place where place.chain_id = new.chain_id;
    -- A claim may have put off its track until it is due.
    insert into holdfast_track_change (track, details)
    select old.track, old.details where old.track is not null and old.status = 'pending';
    update holdfast_job set in_order = 1
     where new.status = 'completed' and chain_id = new.chain_id and chain_index = new.chain_index + 1 and chain_index > 0
       and exists (select 1 from holdfast_place place where place.chain_id = new.chain_id and place.chain = 1);
    delete from holdfast_place
     where chain_id = new.chain_id and (chain = 1 or position = new.seq)
       and (new.status = 'cancelled' or new.status = 'failed' and hold = 0
            or new.status = 'completed'
               and not (chain = 1 and exists (select 1 from holdfast_job next
                                               where next.chain_id = new.chain_id
                                                 and next.chain_index = new.chain_index + 1 and next.chain_index > 0)));
end;

-- A retried job returns to its places.
create trigger holdfast_lanes_retried after update of track on holdfast_job
    when (new.track is not null or new.in_order = 1) and old.status in ('failed', 'cancelled')
     and new.status in ('pending', 'blocked') begin
    update holdfast_job set counted = null where seq = new.seq;
    insert or ignore into holdfast_place (lane, position, chain_id, hold, chain)
    select json_extract(rule.value, '$.lane'),
           case when coalesce(json_extract(rule.value, '$.chain'), 0) then first.seq else job.seq end,
           new.chain_id, coalesce(json_extract(rule.value, '$.hold'), 1), coalesce(json_extract(rule.value, '$.chain'), 0)
      from holdfast_job job, holdfast_job first, json_each(job.details, '$.lanes.rules') rule
     where first.id = new.chain_id and job.track is not null and job.seq in (new.seq, first.seq)
       and json_extract(rule.value, '$.kind') = 'order'
       and (job.seq = new.seq or coalesce(json_extract(rule.value, '$.chain'), 0));
    insert into holdfast_lane_change (lane)
    select place.lane from holdfast_place place where place.chain_id = new.chain_id;
end;

create trigger holdfast_lanes_deleted after delete on holdfast_job when old.track is not null or old.in_order = 1 begin
    insert into holdfast_lane_change (lane)
    select permit.lane from holdfast_permit permit where permit.job = old.seq
    union
    select old.lane where old.lane is not null and old.status = 'running'
    union
    select place.lane from holdfast_place place where place.chain_id = old.chain_id;
    insert into holdfast_track_change (track, details)
    select old.track, old.details where old.track is not null and old.status = 'pending';
    delete from holdfast_permit where job = old.seq;
    delete from holdfast_place where chain_id = old.chain_id and (chain = 1 or position = old.seq);
end;

-- A chain that has not begun may take the lanes of another start. It keeps its position.
create trigger holdfast_lanes_replaced after update of debounced_at on holdfast_job
    when old.track is not null or new.track is not null begin
    insert into holdfast_track_change (track, details)
    select old.track, old.details where old.track is not null and old.status = 'pending';
    insert into holdfast_lane_change (lane)
    select place.lane from holdfast_place place where place.chain_id = new.chain_id;
    delete from holdfast_place where chain_id = new.chain_id;
    insert or ignore into holdfast_place (lane, position, chain_id, hold, chain)
    select json_extract(rule.value, '$.lane'), new.seq, new.chain_id, coalesce(json_extract(rule.value, '$.hold'), 1),
           coalesce(json_extract(rule.value, '$.chain'), 0)
      from json_each(new.details, '$.lanes.rules') rule
     where new.track is not null and json_extract(rule.value, '$.kind') = 'order';
    insert into holdfast_lane_change (lane)
    select place.lane from holdfast_place place where place.chain_id = new.chain_id;
    insert into holdfast_track_change (track, details)
    select new.track, new.details where new.track is not null and new.status = 'pending';
end;

-- A schedule is bytes for the store, except for what its statements need. ticks_at is null if it is not ticked.
create table holdfast_schedule (
    name text primary key,
    version text not null,
    type text not null,
    ticks_at integer,
    body blob not null
) without rowid;
create index holdfast_schedule_ticks on holdfast_schedule (type, ticks_at) where ticks_at is not null;

-- Steps, sleeps, receives and cursors of jobs. A row without finished_at is open.
create table holdfast_step (
    job_id text not null,
    name text not null,
    -- JSON of the value of each=, empty without one.
    each text not null,
    kind text not null,
    number integer not null,
    attempt integer not null,
    epoch integer not null,
    started_at integer not null,
    finished_at integer,
    -- When a sleep ends; the deadline of a receive.
    wake_at integer,
    result blob,
    error blob,
    primary key (job_id, name, each)
) without rowid;

-- Messages of chains. Without a value: the job that waits for the message, and the token of the claim that ended.
create table holdfast_message (
    chain_id text not null,
    name text not null,
    sent_at integer,
    job_id text,
    token text,
    value blob,
    primary key (chain_id, name)
) without rowid;

insert into holdfast_migration values ('0001_jobs', 0);
