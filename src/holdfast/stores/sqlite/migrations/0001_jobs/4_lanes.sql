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
