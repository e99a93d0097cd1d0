-- lanes: read and change lanes and tracks. The plans are in `stores/sql/lane_claims.py`; lists are JSON.

-- lanes_present: whether a claim of these types may find jobs with lanes.
select exists (select 1 from holdfast_lane_change)
    or exists (select 1 from holdfast_lane where wake_at <= :now)
    or exists (select 1 from json_each(:types) type
                 join holdfast_track track on track.type = type.value
                where track.parked is null and track.ready_at <= :now
                  and type.value not in (select paused.type from holdfast_paused paused))

-- track_change: make a track ready, for new jobs with these details. Positional parameters are faster than names.
insert into holdfast_track_change (track, details) values (?, ?)

-- enter_orders: give these new jobs their places in their orders.
insert or ignore into holdfast_place (lane, position, chain_id, hold, chain)
select json_extract(rule.value, '$.lane'),
       case when coalesce(json_extract(rule.value, '$.chain'), 0)
            then (select first.seq from holdfast_job first where first.id = job.chain_id) else job.seq end,
       job.chain_id, coalesce(json_extract(rule.value, '$.hold'), 1), coalesce(json_extract(rule.value, '$.chain'), 0)
  from json_each(:ids) new
 cross join holdfast_job job on job.id = new.value
 cross join json_each(job.details, '$.lanes.rules') rule
 where json_extract(rule.value, '$.kind') = 'order'

-- orders_entered: record that the orders of these new jobs have changed, if their chains have begun.
-- The first job of a chain changes no order for other tracks: it comes last. `track_change` makes its own track ready.
insert into holdfast_lane_change (lane)
select place.lane
  from json_each(:ids) new
 cross join holdfast_job job on job.id = new.value and job.chain_index > 0
 cross join holdfast_place place on place.chain_id = job.chain_id

-- lane_changes: the lanes that have changed, oldest first.
select seq, lane, refund from holdfast_lane_change order by seq limit :limit

-- lane_changes_delete: forget changes.
delete from holdfast_lane_change where seq in (select value from json_each(:seqs))

-- limits_add: add limits that the store does not have.
insert or ignore into holdfast_limit (name, kind, declared, per, burst)
select json_extract(value, '$.name'), json_extract(value, '$.kind'), json_extract(value, '$.number'),
       json_extract(value, '$.per'), json_extract(value, '$.burst')
  from json_each(:limits)

-- lanes_add: add lanes that the store does not have.
insert or ignore into holdfast_lane (lane) select value from json_each(:lanes)

-- lanes_waking: the lanes of these where tracks are parked, with the types of the tracks, and the lanes whose time has come.
-- The last column: for how many jobs the lane has room. A rate has room for one.
-- The recursion follows the index from one type to the next, however many tracks are parked.
with recursive found (lane, type, due) as (
    select changed.value, (select min(track.type) from holdfast_track track where track.parked = changed.value), 0
      from json_each(:lanes) changed
    union all
    select lane.lane, (select min(track.type) from holdfast_track track where track.parked = lane.lane), 1
      from holdfast_lane lane
     where lane.wake_at <= :now
    union all
    select found.lane, (select min(track.type) from holdfast_track track
                         where track.parked = found.lane and track.type > found.type), 0
      from found
     where found.type is not null
)
select distinct found.lane, found.type,
       coalesce((select case rule.kind
                            when 'limit' then max(0, coalesce(lane.override, rule.override, rule.declared)
                                                     - (select count(*) from holdfast_permit permit where permit.lane = lane.lane)
                                                     - (select count(*) from holdfast_job job where job.lane = lane.lane and job.status = 'running'))
                            else 1 end
                   from holdfast_lane lane
                   join holdfast_limit rule on rule.name = substr(lane.lane, 1, instr(lane.lane, char(31)) - 1)
                  where lane.lane = found.lane), 0)
  from found
 where found.type is not null or found.due

-- tracks_due: make the tracks ready whose first job is due.
update holdfast_track set ready_at = 0
 where parked is null and ready_at > 0 and ready_at <= :now and type in (select value from json_each(:types))

-- tracks_ready: the ready tracks of a type, best first.
select track, type, priority, fair, lanes, turn, parked, alone, seq
  from holdfast_track
 where parked is null and ready_at = 0 and type = :type and type not in (select paused.type from holdfast_paused paused)
 order by priority desc, turn
 limit :limit

-- tracks_woken: the best tracks of each of these types that are parked at these lanes, as many as the lanes have room for.
select track.track, track.type, track.priority, track.fair, track.lanes, track.turn, track.parked, track.alone, track.seq
  from json_each(:pairs) wanted
  join holdfast_track track on track.track in (
    select best.track from holdfast_track best
     where best.parked = json_extract(wanted.value, '$.lane') and best.type = json_extract(wanted.value, '$.type')
     order by best.priority desc, best.turn
     limit :room)
 where track.type not in (select paused.type from holdfast_paused paused)

-- lanes_state: these lanes with the numbers in force, how many jobs hold them, and the chain at the front of an order.
select lane.lane, rule.kind, coalesce(lane.override, rule.override, rule.declared), rule.per, rule.burst, lane.tat,
       (select count(*) from holdfast_permit permit where permit.lane = lane.lane)
       + (select count(*) from holdfast_job job where job.lane = lane.lane and job.status = 'running'),
       case when rule.kind = 'order'
            then (select place.chain_id from holdfast_place place where place.lane = lane.lane
                   order by place.position limit 1) end,
       exists (select 1 from holdfast_track track where track.parked = lane.lane),
       lane.wake_at is not null, lane.hold
  from holdfast_lane lane
  join holdfast_limit rule on rule.name = substr(lane.lane, 1, instr(lane.lane, char(31)) - 1)
 where lane.lane in (select value from json_each(:lanes))

-- track_jobs: the first due jobs of each of these tracks. The last column: when the next job of the track is due.
select job.track, job.seq, job.id, job.chain_id, job.attempt, job.counted,
       case when instr(job.details, '"weight"') then job.details end, job.scheduled_at, job.type,
       (select next.scheduled_at from holdfast_job next
         where next.status = 'pending' and next.type = wanted.type and next.track_seq = wanted.seq and next.priority = wanted.priority
         order by next.scheduled_at, next.seq
         limit 1 offset :limit)
  from json_each(:tracks) asked
 cross join holdfast_track wanted on wanted.track = asked.value
 cross join holdfast_job job on job.seq in (
    select first.seq from holdfast_job first
     where first.status = 'pending' and first.type = wanted.type and first.track_seq = wanted.seq and first.priority = wanted.priority
       and first.scheduled_at <= :now
     order by first.scheduled_at, first.seq
     limit :limit)
 order by asked.key, job.scheduled_at, job.seq

-- track_job: the first due job of each of these tracks, with the same columns. It needs no list of jobs per track, as `track_jobs` does.
select job.track, job.seq, job.id, job.chain_id, job.attempt, job.counted,
       case when instr(job.details, '"weight"') then job.details end, job.scheduled_at, job.type,
       (select next.scheduled_at from holdfast_job next
         where next.status = 'pending' and next.type = wanted.type and next.track_seq = wanted.seq and next.priority = wanted.priority
         order by next.scheduled_at, next.seq
         limit 1 offset 1)
  from json_each(:tracks) asked
 cross join holdfast_track wanted on wanted.track = asked.value
 cross join holdfast_job job on job.seq = (
    select first.seq from holdfast_job first
     where first.status = 'pending' and first.type = wanted.type and first.track_seq = wanted.seq and first.priority = wanted.priority
       and first.scheduled_at <= :now
     order by first.scheduled_at, first.seq
     limit 1)

-- order_jobs: the pending jobs of the chains at the front of orders, due or not. The last column: when another job of the track is due.
-- cross join, +status: find them by the id or the chain. Otherwise SQLite may read the index of all pending jobs.
select job.track, job.seq, job.id, job.chain_id, job.attempt, job.counted,
       case when instr(job.details, '"weight"') then job.details end, job.scheduled_at, job.type,
       (select next.scheduled_at from holdfast_job next
         where next.status = 'pending' and next.type = job.type and next.track_seq = job.track_seq and next.priority = job.priority
           and next.seq <> job.seq
         order by next.scheduled_at limit 1)
  from json_each(:chains) front
 cross join holdfast_job job on job.id = front.value
 where job.chain_index = 0 and +job.status = 'pending' and job.track is not null
 union all
select job.track, job.seq, job.id, job.chain_id, job.attempt, job.counted,
       case when instr(job.details, '"weight"') then job.details end, job.scheduled_at, job.type,
       (select next.scheduled_at from holdfast_job next
         where next.status = 'pending' and next.type = job.type and next.track_seq = job.track_seq and next.priority = job.priority
           and next.seq <> job.seq
         order by next.scheduled_at limit 1)
  from json_each(:chains) front
 cross join holdfast_job job on job.chain_id = front.value
 where job.chain_index > 0 and +job.status = 'pending' and job.track is not null

-- lanes_freed: record that jobs hold these lanes no more.
insert into holdfast_lane_change (lane) select value from json_each(:lanes)

-- orders_left: remove the places of these chains, which end.
delete from holdfast_place where chain_id in (select value from json_each(:chains))

-- permits_add: let jobs hold lanes.
insert into holdfast_permit (lane, job)
select json_extract(value, '$.lane'), json_extract(value, '$.job') from json_each(:permits)

-- jobs_counted: the rates of these jobs have counted their current attempt.
update holdfast_job set counted = attempt where seq in (select value from json_each(:seqs))

-- lane_save: write the state of a lane after a claim.
update holdfast_lane set tat = :tat, wake_at = :wake_at, hold = :hold where lane = :lane

-- track_next: when the first waiting job of each of these tracks is due.
select wanted.track,
       (select job.scheduled_at from holdfast_job job
         where job.status = 'pending' and job.type = wanted.type and job.track_seq = wanted.seq and job.priority = wanted.priority
         order by job.scheduled_at limit 1)
  from json_each(:tracks) asked
 cross join holdfast_track wanted on wanted.track = asked.value

-- track_save: write the state of a track after a claim.
update holdfast_track set ready_at = :ready_at, parked = :parked where track = :track

-- tracks_delete: forget tracks without waiting jobs.
delete from holdfast_track where track in (select value from json_each(:tracks))

-- track_turn: put the tracks of a lane that was served behind all others.
-- Positional parameters: the turn, the beginning of the ids of these tracks, and an id after them.
-- or fail: otherwise SQLite copies the pages before it changes several rows. An error ends the transaction of the claim anyway.
update or fail holdfast_track set turn = ? where track >= ? and track < ?

-- parked_types: the types of the tracks that are parked at these lanes.
-- The recursion follows the index from one type to the next, however many tracks are parked.
with recursive found (lane, type) as (
    select lane.value, (select min(track.type) from holdfast_track track where track.parked = lane.value)
      from json_each(:lanes) lane
    union all
    select found.lane, (select min(track.type) from holdfast_track track
                         where track.parked = found.lane and track.type > found.type)
      from found
     where found.type is not null
)
select lane, type from found where type is not null

-- track_unpark: make tracks of a type ready that are parked at a lane, best first.
update holdfast_track set parked = null, ready_at = 0
 where track in (select track from holdfast_track where parked = :lane and type = :type
                  order by priority desc, turn limit :room)

-- track_unpark_one: make a track ready if it is parked at this lane.
update holdfast_track set parked = null, ready_at = 0 where track = :track and parked = :lane

-- turn_read: the number of the next turn, and whether a job with lanes is next.
select turn, lanes_next from holdfast_turn

-- turn_save: write them.
update holdfast_turn set turn = :turn, lanes_next = :lanes_next

-- next_lanes: when a claim of these types may find jobs with lanes.
select min(at) from (
    select 0 as at from holdfast_lane_change
    union all
    select min(wake_at) from holdfast_lane where wake_at is not null
    union all
    select min((select min(track.ready_at) from holdfast_track track
                 where track.parked is null and track.type = type.value))
      from json_each(:types) type
     where type.value not in (select paused.type from holdfast_paused paused))

-- held_orders: failed jobs that hold a place in an order.
select place.lane, job.id
  from holdfast_place place
  join holdfast_job job on job.chain_id = place.chain_id
 where job.status = 'failed'
 order by place.lane, place.position
 limit :limit
