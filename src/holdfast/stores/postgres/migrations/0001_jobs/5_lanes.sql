-- Limits, rates and orders. A lane is one key of one of them: its name, the character 31, and the key.
create table holdfast.limits (
    name text collate "C" primary key,
    kind text not null,
    declared bigint not null,
    per bigint not null,
    burst bigint not null,
    -- Set by an operator.
    override bigint
);

create table holdfast.lane (
    lane text collate "C" primary key,
    -- Of a rate: the theoretical arrival time of the next attempt (GCRA).
    tat bigint not null default 0,
    override bigint,
    -- When to read the tracks that are parked here again.
    wake_at bigint,
    -- The reservation of a rate: the track, the priority and the time of the job that waits for its weight, as JSON.
    hold text
) with (fillfactor = 70);
create index lane_wake on holdfast.lane (wake_at) where wake_at is not null;

-- A claim reads tracks that are not parked and whose time has come. Tracks with a lower turn come first.
-- The ids of the tracks with the same lane for fairness begin with the same 16 digits.
create table holdfast.track (
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
create index track_ready on holdfast.track (type, ready_at, priority desc, turn) where parked is null;
create index track_parked on holdfast.track (parked, type, priority desc, turn) where parked is not null;

-- The running jobs that hold a lane, except jobs with one limit or order and no other lane: those hold `job.lane`.
-- The triggers delete the rows when the job is no longer running.
create table holdfast.permit (
    lane text collate "C" not null,
    job bigint not null,
    primary key (lane, job)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index permit_job on holdfast.permit (job);

-- The chains that have a place in an order. The lowest position is next.
create table holdfast.place (
    lane text collate "C" not null,
    position bigint not null,
    chain_id text collate "C" not null,
    -- Whether a failed job keeps its place.
    hold boolean not null,
    -- Whether the place is kept until the chain ends.
    chain boolean not null,
    primary key (lane, position)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index place_chain on holdfast.place (chain_id);

-- Lanes and tracks that the next claim reads again. Starts and settlements only add rows here, so that they lock no lane.
-- A row has either lanes, or the tracks of new jobs. Those of lanes are read first, however many jobs are new.
-- A statement adds one row for all its jobs: each row costs an index entry, which claims read until the next vacuum.
create table holdfast.lane_change (
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

create function holdfast.lane_rules(details text)
    returns table (lane text, kind text, number bigint, per bigint, burst bigint, weight bigint, hold boolean, chain boolean)
    language sql immutable parallel safe as $$
    select rule ->> 'lane', rule ->> 'kind', coalesce((rule ->> 'number')::bigint, 1), coalesce((rule ->> 'per')::bigint, 0),
           coalesce((rule ->> 'burst')::bigint, 1), coalesce((rule ->> 'weight')::bigint, 1),
           coalesce((rule ->> 'hold')::boolean, true), coalesce((rule ->> 'chain')::boolean, false)
      from json_array_elements(details::json -> 'lanes' -> 'rules') rule $$;

-- Give the job, and the places that its chain keeps, a row each. `insert` skips places that exist.
-- plpgsql keeps the plan of its statement for the session. The server plans a function in SQL at every call.
create function holdfast.take_places(job_seq bigint, job_chain text, job_details text, whole_chain boolean)
    returns void language plpgsql volatile as $$
begin
    insert into holdfast.place (lane, position, chain_id, hold, chain)
    select rule.lane, case when rule.chain then first.seq else job_seq end, job_chain, rule.hold, rule.chain
      from holdfast.lane_rules(job_details) rule, holdfast.job first
     where rule.kind = 'order' and first.id = job_chain and (rule.chain or not whole_chain)
        on conflict do nothing;
end $$;

-- Raise an error if lanes are out of range. Returns whether one of them is an order.
create function holdfast.check_lanes(details text) returns boolean language plpgsql immutable as $$
declare
    rule record;
    ordered boolean := false;
begin
    for rule in select * from holdfast.lane_rules(details) loop
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
create function holdfast.enter_lanes(job_seq bigint, job_chain text, job_index integer, job_details text)
    returns boolean language plpgsql volatile as $$
begin
    if holdfast.check_lanes(job_details) then
        perform holdfast.take_places(job_seq, job_chain, job_details, false);
    end if;
    -- The first job of a chain changes no order for other tracks: it comes last. The statement records the track of the job.
    if job_index > 0 then
        insert into holdfast.lane_change (lanes) select array[place.lane] from holdfast.place where place.chain_id = job_chain;
    end if;
    return true;
end $$;

create function holdfast.lanes_updated() returns trigger language plpgsql as $$
declare
    -- Most jobs have no order. The text may also be part of a key: then the chain has no places.
    ordered boolean := new.in_order or strpos(new.details, 'order') > 0;
begin
    if old.status = 'running' and new.status <> 'running' then
        if old.lane is not null then
            insert into holdfast.lane_change (lanes) values (array[old.lane]);
        else
            with freed as (
                delete from holdfast.permit where permit.job = old.seq returning permit.lane
            )
            insert into holdfast.lane_change (lanes) select array[freed.lane] from freed;
        end if;
        -- The job was released before its handler began: its rates do not count the attempt.
        if old.counted = old.attempt and new.counted is null then
            insert into holdfast.lane_change (lanes, refund)
            select array[rule.lane], rule.weight from holdfast.lane_rules(new.details) rule where rule.kind = 'rate';
        end if;
    end if;
    if new.status <> old.status and (old.status in ('failed', 'cancelled')
       or ordered and exists (select 1 from holdfast.place where place.chain_id = new.chain_id)) then
        insert into holdfast.lane_change (lanes) select array[place.lane] from holdfast.place where place.chain_id = new.chain_id;
        if new.status in ('completed', 'failed', 'cancelled') then
            -- A claim may have put off its track until it is due.
            insert into holdfast.lane_change (tracks, details)
            select array[old.track], array[old.details] where old.track is not null and old.status = 'pending';
            -- It leaves its orders, unless it failed and holds them, or its chain goes on and spans them.
            update holdfast.job set in_order = true
             where new.status = 'completed' and job.chain_id = new.chain_id and job.chain_index = new.chain_index + 1
               and job.chain_index > 0
               and exists (select 1 from holdfast.place where place.chain_id = new.chain_id and place.chain);
            delete from holdfast.place
             where place.chain_id = new.chain_id and (place.chain or place.position = new.seq)
               and (new.status = 'cancelled' or new.status = 'failed' and not place.hold
                    or new.status = 'completed'
                       and not (place.chain and exists (select 1 from holdfast.job next
                                                         where next.chain_id = new.chain_id and next.chain_index > 0
                                                           and next.chain_index = new.chain_index + 1)));
        elsif old.status in ('failed', 'cancelled') then
            if new.track is not null then
                perform holdfast.take_places(new.seq, new.chain_id, new.details, false);
            end if;
            perform holdfast.take_places(first.seq, new.chain_id, first.details, true)
               from holdfast.job first where first.id = new.chain_id and first.track is not null;
            insert into holdfast.lane_change (lanes)
            select array[place.lane] from holdfast.place where place.chain_id = new.chain_id;
        end if;
    end if;
    if new.track is not null and new.status = 'pending' then
        insert into holdfast.lane_change (tracks, details) values (array[new.track], array[new.details]);
        if ordered then
            insert into holdfast.lane_change (lanes) select array[place.lane] from holdfast.place where place.chain_id = new.chain_id;
        end if;
    end if;
    return null;
end $$;

create function holdfast.lanes_deleted() returns trigger language plpgsql as $$
begin
    insert into holdfast.lane_change (lanes)
    select array[permit.lane] from holdfast.permit where permit.job = old.seq
    union
    select array[old.lane] where old.lane is not null and old.status = 'running'
    union
    select array[place.lane] from holdfast.place where place.chain_id = old.chain_id;
    insert into holdfast.lane_change (tracks, details)
    select array[old.track], array[old.details] where old.track is not null and old.status = 'pending';
    delete from holdfast.permit where permit.job = old.seq;
    delete from holdfast.place where place.chain_id = old.chain_id and (place.chain or place.position = old.seq);
    return null;
end $$;

-- A chain that has not begun may take the lanes of another start. It keeps its position.
create function holdfast.lanes_replaced() returns trigger language plpgsql as $$
begin
    insert into holdfast.lane_change (tracks, details)
    select array[old.track], array[old.details] where old.track is not null and old.status = 'pending';
    insert into holdfast.lane_change (lanes) select array[place.lane] from holdfast.place where place.chain_id = new.chain_id;
    delete from holdfast.place where place.chain_id = new.chain_id;
    if new.track is not null then
        perform holdfast.check_lanes(new.details);
        perform holdfast.take_places(new.seq, new.chain_id, new.details, false);
        insert into holdfast.lane_change (lanes) select array[place.lane] from holdfast.place where place.chain_id = new.chain_id;
        if new.status = 'pending' then
            insert into holdfast.lane_change (tracks, details) values (array[new.track], array[new.details]);
        end if;
    end if;
    return null;
end $$;

-- A claim writes the lanes of its jobs itself. So does a statement that completes a job and sets its lane to null.
create trigger lanes_updated after update of status, scheduled_at, track, counted on holdfast.job
    for each row when ((new.track is not null or new.in_order) and new.status <> 'running'
                       and not (new.status = 'completed' and old.lane is not null and new.lane is null))
    execute function holdfast.lanes_updated();
create trigger lanes_replaced after update of debounced_at on holdfast.job
    for each row when (old.track is not null or new.track is not null) execute function holdfast.lanes_replaced();
create trigger lanes_deleted after delete on holdfast.job
    for each row when (old.track is not null or old.in_order) execute function holdfast.lanes_deleted();
