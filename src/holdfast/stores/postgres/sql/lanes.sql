-- lanes_add: add lanes that the store does not have.
insert into holdfast.lane (lane)
select wanted.lane from json_array_elements_text(:lanes::json) wanted (lane) order by wanted.lane
    on conflict do nothing

-- limits_add: add limits that the store does not have.
insert into holdfast.limits (name, kind, declared, per, burst)
select wanted.name, wanted.kind, wanted.number, wanted.per, wanted.burst
  from json_to_recordset(:limits::json) wanted (name text, kind text, number bigint, per bigint, burst bigint)
    on conflict do nothing

-- lanes_lock: lock these lanes, which are given in the order of their ids, and wait for claims that have locked them.
select locked.lane
  from json_array_elements_text(:lanes::json) wanted (lane)
 cross join lateral (select lane.lane from holdfast.lane where lane.lane = wanted.lane for update) locked

-- lanes_state: these locked lanes with the numbers in force, how many jobs hold them, and the chain at the front of an order.
-- A statement of its own: its snapshot is newer than the locks. Without `lanes`, those that `lanes_find` has passed on.
-- nullif: the planner evaluates the setting, also if the statement is used outside of a claim.
select lane.lane, rule.kind, coalesce(lane.override, rule.override, rule.declared), rule.per, rule.burst, lane.tat,
       case when (select true from holdfast.permit order by permit.lane limit 1)
            then (select count(*) from holdfast.permit where permit.lane = lane.lane) else 0 end
       + (select count(*) from holdfast.job where job.status = 'running' and job.lane = lane.lane),
       case when rule.kind = 'order'
            then (select place.chain_id from holdfast.place where place.lane = lane.lane order by place.position limit 1) end,
       coalesce((select true from holdfast.track where track.parked is not null order by track.parked limit 1)
                and (select true from holdfast.track where track.parked = lane.lane limit 1), false),
       lane.wake_at is not null, lane.hold
  from unnest(case when :lanes::text is null then nullif(current_setting('holdfast_claim.lanes', true), '')::text[]
                   else array(select json_array_elements_text(:lanes::json)) end) wanted (lane)
 cross join lateral (
    select found.lane, found.override, found.tat, found.wake_at, found.hold from holdfast.lane found where found.lane = wanted.lane offset 0) lane
  join holdfast.limits rule on rule.name = split_part(lane.lane, chr(31), 1)

-- track_jobs: lock the first due jobs of the tracks that `lanes_find` has passed on. Jobs that another transaction has locked are
-- skipped. The last column: when the next job of the track is due, which is not locked.
select first.*, (select job.scheduled_at from holdfast.job
                  where job.status = 'pending' and job.type = wanted.type and job.track = wanted.track and job.priority = wanted.priority
                  order by job.scheduled_at, job.seq offset wanted.jobs limit 1)
  from (select given.type, given.priority, given.jobs, unnest(given.tracks::text[]) as track
          from unnest(current_setting('holdfast_claim.tracks')::text[], current_setting('holdfast_claim.types')::text[],
                      current_setting('holdfast_claim.priorities')::bigint[], current_setting('holdfast_claim.jobs')::bigint[])
               given (tracks, type, priority, jobs)) wanted
 cross join lateral (
    select job.track, job.seq, job.id, job.chain_id, job.attempt, job.counted,
           case when strpos(job.details, '"weight"') > 0 then job.details end, job.scheduled_at, job.type
      from holdfast.job
     where job.status = 'pending' and job.type = wanted.type and job.track = wanted.track and job.priority = wanted.priority
       and job.scheduled_at <= current_setting('holdfast_claim.now')::bigint
     order by job.scheduled_at, job.seq
     limit wanted.jobs
       for update skip locked) first

-- order_jobs: lock the pending jobs of the chains at the front of the orders that `lanes_find` has passed on, due or not.
-- The last column: when another job of the same track is due.
with front as materialized (
    select first.chain_id
      from unnest(current_setting('holdfast_claim.lanes')::text[]) wanted (lane)
     cross join lateral (select place.chain_id from holdfast.place where place.lane = wanted.lane order by place.position limit 1) first
     where split_part(wanted.lane, chr(31), 1) in (select limits.name from holdfast.limits where limits.kind = 'order')
), first as materialized (
    select found.*
      from front
     cross join lateral (
        select job.track, job.seq, job.id, job.chain_id, job.attempt, job.counted,
               case when strpos(job.details, '"weight"') > 0 then job.details end, job.scheduled_at, job.type, job.priority
          from holdfast.job
         where job.id = front.chain_id and job.chain_index = 0 and job.status = 'pending' and job.track is not null
           for update skip locked) found
), later as materialized (
    select found.*
      from front
     cross join lateral (
        select job.track, job.seq, job.id, job.chain_id, job.attempt, job.counted,
               case when strpos(job.details, '"weight"') > 0 then job.details end, job.scheduled_at, job.type, job.priority
          from holdfast.job
         where job.chain_id = front.chain_id and job.chain_index > 0 and job.status = 'pending' and job.track is not null
           for update skip locked) found
), found (track, seq, id, chain_id, attempt, counted, details, scheduled_at, type, priority) as (
    select * from first union all select * from later
)
select found.track, found.seq, found.id, found.chain_id, found.attempt, found.counted, found.details, found.scheduled_at, found.type,
       (select job.scheduled_at from holdfast.job
         where job.status = 'pending' and job.type = found.type and job.track = found.track and job.priority = found.priority
           and job.seq <> found.seq
         order by job.scheduled_at, job.seq limit 1)
  from found

-- permits_add: let jobs hold lanes.
insert into holdfast.permit (lane, job)
select wanted.lane, wanted.job from json_to_recordset(:permits::json) wanted (lane text, job bigint)

-- lane_save: write the state of locked lanes after a claim.
update holdfast.lane set tat = given.tat, wake_at = given.wake_at, hold = given.hold
  from json_to_recordset(:rows::json) given (lane text, tat bigint, wake_at bigint, hold text)
 where lane.lane = given.lane

-- track_next: when the first waiting job of each of these tracks is due.
select wanted.track,
       (select job.scheduled_at from holdfast.job
         where job.status = 'pending' and job.type = wanted.type and job.track = wanted.track and job.priority = wanted.priority
         order by job.scheduled_at limit 1)
  from unnest(:tracks::text[], :types::text[], :priorities::bigint[]) wanted (track, type, priority)

-- track_save: write the state of locked tracks after a claim.
with given as materialized (
    select wanted.* from json_to_recordset(:rows::json) wanted (track text, ready_at bigint, parked text, turn bigint)
)
update holdfast.track set ready_at = given.ready_at, parked = given.parked, turn = given.turn from given
 where track.track = any(array(select given.track from given)) and track.track = given.track

-- ready_add: let claims read tracks. Each row has tracks of one type and priority; lists are given as texts.
insert into holdfast.ready (type, ready_at, priority, turn, tracks, turns)
select given.type, given.ready_at, given.priority, given.turn, given.tracks::text[], given.turns::bigint[]
  from unnest(:types::text[], :ready_ats::bigint[], :priorities::bigint[], :firsts::bigint[], :tracks::text[], :turns::text[])
       given (type, ready_at, priority, turn, tracks, turns)

-- tracks_delete: forget tracks without waiting jobs.
delete from holdfast.track where track.track = any(array(select json_array_elements_text(:tracks::json)))

-- track_turn: put the other tracks of a lane that was served behind all others. Tracks of other claims are skipped.
-- The ids of these tracks begin with the same prefix. `served`: the track whose turn another statement writes; else an empty text.
-- By ctid: the rows are locked, so no transaction moves them.
with others as materialized (
    select same.ctid, given.turn
      from unnest(:prefixes::text[], :ends::text[], :served::text[], :turns::bigint[]) given (prefix, after, served, turn)
     cross join lateral (
        select track.ctid from holdfast.track
         where track.track >= given.prefix and track.track < given.after and track.track <> given.served
           for update skip locked) same
)
update holdfast.track set turn = others.turn from others where track.ctid = others.ctid

-- parked_types: the types of the tracks that are parked at these lanes.
-- The recursion follows the index from one type to the next, however many tracks are parked.
with recursive found (lane, type) as (
    select wanted.lane, (select min(track.type) from holdfast.track where track.parked = wanted.lane)
      from json_array_elements_text(:lanes::json) wanted (lane)
    union all
    select found.lane, (select min(track.type) from holdfast.track where track.parked = found.lane and track.type > found.type)
      from found
     where found.type is not null
)
select found.lane, found.type from found where found.type is not null

-- track_unpark: make tracks of a type ready that are parked at a lane, best first.
-- Another transaction may have locked them all for a moment, to write their turn. Then the lane is read again.
with given as materialized (
    select wanted.* from json_to_recordset(:rows::json) wanted (lane text, type text, room bigint)
), best as materialized (
    select first.track, given.lane, given.type
      from given
     cross join lateral (
        select track.track from holdfast.track
         where track.parked = given.lane and track.type = given.type
         order by track.priority desc, track.turn
         limit given.room
           for update skip locked) first
), missed as (
    insert into holdfast.lane_change (lanes)
    select distinct array[given.lane] from given
     where not exists (select 1 from best where best.lane = given.lane and best.type = given.type)
), unparked as (
    update holdfast.track set parked = null, ready_at = 0 where track.track = any(array(select best.track from best))
    returning track.track, track.type, track.priority, track.turn
)
insert into holdfast.ready (type, priority, turn, tracks, turns)
select unparked.type, unparked.priority, unparked.turn, array[unparked.track], array[unparked.turn] from unparked

-- track_unpark_one: make a track ready if it is parked at this lane. See track_unpark.
with given as materialized (
    select wanted.* from json_to_recordset(:rows::json) wanted (lane text, track text)
), best as materialized (
    select first.track
      from given
     cross join lateral (
        select track.track from holdfast.track where track.track = given.track and track.parked = given.lane for update skip locked) first
), missed as (
    insert into holdfast.lane_change (lanes)
    select distinct array[given.lane]
      from given
      join holdfast.track on track.track = given.track and track.parked = given.lane
     where not exists (select 1 from best where best.track = given.track)
), unparked as (
    update holdfast.track set parked = null, ready_at = 0 where track.track = any(array(select best.track from best))
    returning track.track, track.type, track.priority, track.turn
)
insert into holdfast.ready (type, priority, turn, tracks, turns)
select unparked.type, unparked.priority, unparked.turn, array[unparked.track], array[unparked.turn] from unparked
