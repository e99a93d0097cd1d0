-- lanes_present: whether a claim of these types may find jobs with lanes.
-- The order lets the planner read each table by its index, also in a plan that was made while the table was empty. After many
-- starts, `lane_change` has many deleted rows.
select (select lane_change.seq from holdfast.lane_change order by lane_change.new, lane_change.seq limit 1) is not null
    or (select lane.wake_at from holdfast.lane where lane.wake_at is not null order by lane.wake_at limit 1)
       <= holdfast.clock(:now::bigint) is true
    or exists (select 1 from unnest(:types::text[]) served (type)
                where served.type not in (select paused.type from holdfast.paused)
                  and (select track.ready_at from holdfast.track where track.parked is null and track.type = served.type
                        order by track.ready_at limit 1) <= holdfast.clock(:now::bigint))

-- lane_changes: take the lanes that have changed.
with taken as materialized (
    delete from holdfast.lane_change
     where lane_change.ctid = any(array(
        select first.ctid
          from (select free.ctid, sum(free.size) over (order by free.seq) - free.size as before
                  from (select change.ctid, change.seq, change.size from holdfast.lane_change change
                         where not change.new order by change.seq limit :limit::bigint for update skip locked) free) first
         where first.before < :limit::bigint))
    returning lane_change.lanes, lane_change.refund
)
select changed.lane, taken.refund from taken cross join unnest(taken.lanes) changed (lane)

-- lanes_waking: of these lanes, those where tracks are parked, with the types of the tracks, and those that other claims have
-- locked. Also all lanes whose time has come.
-- The last column: for how many jobs the lane has room. A rate has room for one. The lanes are not locked yet: the number
-- only decides how many tracks are read.
-- Another claim may park a track at one of these lanes: it has read the lane before the change, and is not committed yet. Then
-- its transaction has locked the lane, which `xmax` shows. This claim locks the lane too, so it waits for the other one.
-- The recursion follows the index from one type to the next, however many tracks are parked.
with recursive oldest as materialized (
    select age(pg_snapshot_xmin(pg_current_snapshot())::xid) as age
), wanted as materialized (
    select changed.lane,
           coalesce((select age(lane.xmax) <= oldest.age from holdfast.lane where lane.lane = changed.lane), false) as due
      from json_array_elements_text(:lanes::json) changed (lane), oldest
    union all
    select lane.lane, true from holdfast.lane where lane.wake_at <= :now::bigint
), found (lane, type, due) as (
    select wanted.lane, (select track.type from holdfast.track where track.parked = wanted.lane order by track.type limit 1), wanted.due
      from wanted
    union all
    select found.lane,
           (select track.type from holdfast.track
             where track.parked = found.lane and track.type > found.type order by track.type limit 1), false
      from found
     where found.type is not null
)
select distinct found.lane, found.type, coalesce(roomy.room, 0)
  from found
  left join lateral (
    select case rule.kind
               when 'limit' then greatest(0, coalesce(lane.override, rule.override, rule.declared)
                                             - (select count(*) from holdfast.permit where permit.lane = lane.lane)
                                             - (select count(*) from holdfast.job where job.status = 'running' and job.lane = lane.lane))
               else 1 end as room
      from holdfast.lane
      join holdfast.limits rule on rule.name = split_part(found.lane, chr(31), 1)
     where lane.lane = found.lane
    offset 0) roomy on true
 where found.type is not null or found.due

-- tracks_due: make the tracks ready whose first job is due.
update holdfast.track set ready_at = 0
 where track.track = any(array(
    select due.track from holdfast.track due
     where due.parked is null and due.ready_at > 0 and due.ready_at <= :now::bigint
       and due.type = any(array(select json_array_elements_text(:types::json)))
     limit 1000
       for update skip locked))

-- tracks_ready: lock the ready tracks of these types, best first. Tracks that another claim has locked are skipped.
select first.*
  from json_array_elements_text(:types::json) wanted (type)
 cross join lateral (
    select track.track, track.type, track.priority, track.fair, track.lanes, track.turn, track.parked
      from holdfast.track
     where track.parked is null and track.ready_at = 0 and track.type = wanted.type
     order by track.priority desc, track.turn
     limit :limit::bigint
       for update skip locked) first
 where wanted.type not in (select paused.type from holdfast.paused)

-- tracks_woken: lock the best tracks of each of these types that are parked at these lanes, as many as the lanes have room for.
select best.*
  from json_to_recordset(:pairs::json) wanted (lane text, type text, room bigint)
 cross join lateral (
    select track.track, track.type, track.priority, track.fair, track.lanes, track.turn, track.parked
      from holdfast.track
     where track.parked = wanted.lane and track.type = wanted.type
     order by track.priority desc, track.turn
     limit least(wanted.room, :limit::bigint)
       for update skip locked) best
 where wanted.type not in (select paused.type from holdfast.paused)

-- lanes_lock: lock these lanes, which are given in the order of their ids, and wait for claims that have locked them.
select locked.lane
  from json_array_elements_text(:lanes::json) wanted (lane)
 cross join lateral (select lane.lane from holdfast.lane where lane.lane = wanted.lane for update) locked

-- lanes_state: these locked lanes with the numbers in force, how many jobs hold them, and the chain at the front of an order.
-- A statement of its own: its snapshot is newer than the locks.
-- left join: `explain` also asks for lanes and limits that no claim has added yet.
select wanted.lane, rule.kind, coalesce(lane.override, rule.override, rule.declared), rule.per, rule.burst, coalesce(lane.tat, 0),
       (select count(*) from holdfast.permit where permit.lane = wanted.lane)
       + (select count(*) from holdfast.job where job.status = 'running' and job.lane = wanted.lane),
       case when coalesce(rule.kind, 'order') = 'order'
            then (select place.chain_id from holdfast.place where place.lane = wanted.lane order by place.position limit 1) end,
       coalesce((select true from holdfast.track where track.parked = wanted.lane limit 1), false),
       lane.wake_at is not null, lane.hold
  from json_array_elements_text(:lanes::json) wanted (lane)
  left join lateral (
    select found.override, found.tat, found.wake_at, found.hold from holdfast.lane found where found.lane = wanted.lane offset 0) lane on true
  left join holdfast.limits rule on rule.name = split_part(wanted.lane, chr(31), 1)

-- track_jobs: lock the first due jobs of each of these tracks. Jobs that another transaction has locked are skipped.
-- The last column: when the next job of the track is due, which is not locked.
select first.*, (select job.scheduled_at from holdfast.job
                  where job.status = 'pending' and job.type = wanted.type and job.track = wanted.track and job.priority = wanted.priority
                  order by job.scheduled_at, job.seq offset :limit::bigint limit 1)
  from unnest(:tracks::text[], :types::text[], :priorities::bigint[]) wanted (track, type, priority)
 cross join lateral (
    select job.track, job.seq, job.id, job.chain_id, job.attempt, job.counted,
           case when strpos(job.details, '"weight"') > 0 then job.details end, job.scheduled_at, job.type
      from holdfast.job
     where job.status = 'pending' and job.type = wanted.type and job.track = wanted.track and job.priority = wanted.priority
       and job.scheduled_at <= :now::bigint
     order by job.scheduled_at, job.seq
     limit :limit::bigint
       for update skip locked) first

-- order_jobs: lock the pending jobs of the chains at the front of orders, due or not.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
with wanted as materialized (
    select front.chain from json_array_elements_text(:chains::json) front (chain)
), first as materialized (
    select found.*
      from wanted
     cross join lateral (
        select job.track, job.seq, job.id, job.chain_id, job.attempt, job.counted,
               case when strpos(job.details, '"weight"') > 0 then job.details end, job.scheduled_at, job.type
          from holdfast.job
         where job.id = wanted.chain and job.chain_index = 0 and job.status || '' = 'pending' and job.track is not null
           for update skip locked) found
), later as materialized (
    select found.*
      from wanted
     cross join lateral (
        select job.track, job.seq, job.id, job.chain_id, job.attempt, job.counted,
               case when strpos(job.details, '"weight"') > 0 then job.details end, job.scheduled_at, job.type
          from holdfast.job
         where job.chain_id = wanted.chain and job.chain_index > 0 and job.status || '' = 'pending' and job.track is not null
           for update skip locked) found
)
select * from first union all select * from later

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
    select wanted.* from json_to_recordset(:rows::json) wanted (track text, ready_at bigint, parked text)
)
update holdfast.track set ready_at = given.ready_at, parked = given.parked from given
 where track.track = any(array(select given.track from given)) and track.track = given.track

-- tracks_delete: forget tracks without waiting jobs.
delete from holdfast.track where track.track = any(array(select json_array_elements_text(:tracks::json)))

-- track_turn: put the tracks of a lane that was served behind all others. Tracks of other claims are skipped.
-- The ids of these tracks begin with the same prefix. By ctid: the rows are locked, so no transaction moves them.
with served as materialized (
    select same.ctid, given.turn
      from unnest(:prefixes::text[], :ends::text[], :turns::bigint[]) given (prefix, after, turn)
     cross join lateral (
        select track.ctid from holdfast.track where track.track >= given.prefix and track.track < given.after for update skip locked) same
)
update holdfast.track set turn = served.turn from served where track.ctid = served.ctid

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
)
update holdfast.track set parked = null, ready_at = 0 where track.track = any(array(select best.track from best))

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
)
update holdfast.track set parked = null, ready_at = 0 where track.track = any(array(select best.track from best))
