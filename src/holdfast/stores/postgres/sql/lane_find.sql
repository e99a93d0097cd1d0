-- lanes_begin: the time of a claim, and whether there are listeners. The next statements read the time from the setting.
select clock.now, exists (select 1 from holdfast.listener where listener.until > clock.now),
       set_config('holdfast_claim.now', clock.now::text, true)
  from (select holdfast.clock(:now::bigint) as now) clock

-- tracks_due: make the tracks ready whose first job is due. Tracks that another transaction has locked are skipped.
-- A row without a track that waits for it is removed.
with due as materialized (
    select ready.ctid as place, ready.tracks[1] as track, ready.ready_at
      from holdfast.ready
     where ready.ready_at > 0 and ready.ready_at <= current_setting('holdfast_claim.now')::bigint and ready.type = any(:types::text[])
     limit 1000
       for update skip locked
), free as materialized (
    select due.place, found.track, found.waits
      from due
     cross join lateral (
        select track.track, track.parked is null and track.ready_at = due.ready_at as waits
          from holdfast.track where track.track = due.track for update skip locked) found
), unneeded as (
    delete from holdfast.ready
     where ready.ctid = any(array(
        select free.place from free where not free.waits
        union all
        select due.place from due where not exists (select 1 from holdfast.track where track.track = due.track)))
), begun as (
    update holdfast.ready set ready_at = 0 where ready.ctid = any(array(select free.place from free where free.waits))
)
update holdfast.track set ready_at = 0 where track.track = any(array(select free.track from free where free.waits))

-- lanes_find: take the lanes that have changed; lock the best tracks, and then all lanes in the order of their ids.
-- The first row has the number of changes. The others are tracks, best first; lanes with the weight to refund to a rate; and lanes
-- behind which further tracks are parked, with the highest priority that these may have.
-- Settings pass the lanes and the tracks on to the next statements: the client sends them all at once. Those have newer
-- snapshots than the locks. Tracks with an order are left out: only the job at the front of the order counts.
-- `waits`: the changed lanes where tracks are parked, with the types of the tracks; the changed lanes that other claims have
-- locked; and the lanes whose time has come. `room`: for how many jobs the lane has room. A rate has room for one. The lanes are
-- not locked yet: the number only decides how many tracks are read.
-- Another claim may park a track at one of these lanes: it has read the lane before the change, and is not committed yet. Then
-- its transaction has locked the lane, which `xmax` shows. This claim locks the lane too, so it waits for the other one.
-- The recursion follows the index from one type to the next, however many tracks are parked.
-- `ready`, `woken`: tracks that another claim has locked are skipped. Of parked ones, as many as the lanes have room for.
with recursive moment as materialized (
    select current_setting('holdfast_claim.now')::bigint as now, age(pg_snapshot_xmin(pg_current_snapshot())::xid) as oldest,
           array(select limits.name from holdfast.limits where limits.kind = 'order') as orders
), served as materialized (
    select served.type from unnest(:types::text[]) served (type) where served.type not in (select paused.type from holdfast.paused)
), taken as materialized (
    delete from holdfast.lane_change
     where lane_change.ctid = any(array(
        select first.ctid
          from (select free.ctid, sum(free.size) over (order by free.seq) - free.size as before
                  from (select change.ctid, change.seq, change.size from holdfast.lane_change change
                         where not change.new order by change.seq limit :changes::bigint for update skip locked) free) first
         where first.before < :changes::bigint))
    returning lane_change.lanes, lane_change.refund
), changed as materialized (
    select given.lane, taken.refund from taken cross join unnest(taken.lanes) given (lane)
), found (lane, type, due) as (
    select changed.lane,
           case when (select true from holdfast.track where track.parked is not null order by track.parked limit 1)
                then (select track.type from holdfast.track where track.parked = changed.lane order by track.type limit 1) end,
           coalesce((select age(lane.xmax) <= moment.oldest from holdfast.lane where lane.lane = changed.lane), false)
      from changed, moment
    union all
    select lane.lane, (select track.type from holdfast.track where track.parked = lane.lane order by track.type limit 1), true
      from holdfast.lane
     where lane.wake_at <= (select moment.now from moment)
    union all
    select found.lane,
           (select track.type from holdfast.track
             where track.parked = found.lane and track.type > found.type order by track.type limit 1), false
      from found
     where found.type is not null
), waits as materialized (
    select distinct found.lane, found.type, coalesce(roomy.room, 0) as room
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
), rows as materialized (
    delete from holdfast.ready
     where ready.ctid = any(array(
        select free.ctid
          from served
         cross join lateral (
            select ready.ctid
              from holdfast.ready
             where ready.type = served.type and ready.ready_at = 0
             order by ready.priority desc, ready.turn
             limit (select count(*)
                      from (select sum(first.size) over (order by first.priority desc, first.turn) - first.size as before
                              from (select next.priority, next.turn, cardinality(next.tracks) as size
                                      from holdfast.ready next
                                     where next.type = served.type and next.ready_at = 0
                                     order by next.priority desc, next.turn
                                     limit :limit::bigint) first) sized
                     where sized.before < :limit::bigint)
               for update skip locked) free))
    returning ready.type, ready.priority, ready.turn as first, ready.tracks, ready.turns
), ready as materialized (
    select entry.track, rows.type, rows.priority, found.fair, found.lanes, greatest(entry.turn, found.turn) as turn, found.parked,
           rows.first, found.shared,
           case when found.fair is null then 'not locked' when not found.waits then 'gone'
                when found.turn > entry.turn then 'moved' else 'ready' end as state
      from rows
     cross join unnest(rows.tracks, rows.turns) entry (track, turn)
      left join lateral (
        select track.fair, track.lanes, track.turn, track.parked, track.parked is null and track.ready_at = 0 as waits,
               exists (select 1 from holdfast.track same
                        where same.track >= left(track.track, 16) and same.track < left(track.track, 16) || 'g'
                          and same.track <> track.track) as shared
          from holdfast.track
         where track.track = entry.track
           for update skip locked) found on true
), woken as materialized (
    select best.*
      from waits join served on served.type = waits.type
     cross join lateral (
        select track.track, track.type, track.priority, track.fair, track.lanes, track.turn, track.parked
          from holdfast.track
         where track.parked = waits.lane and track.type = waits.type
         order by track.priority desc, track.turn
         limit least(waits.room, :limit::bigint)
           for update skip locked) best
), ranked as materialized (
    select tracks.*, row_number() over (order by tracks.priority desc, tracks.turn) as place
      from (select ready.track, ready.type, ready.priority, ready.fair, ready.lanes, ready.turn, ready.parked, ready.first, ready.shared
              from ready where ready.state = 'ready'
            union all
            select woken.*, null, true from woken) tracks
), wanted_lanes as materialized (
    select all_lanes.lane
      from (select waits.lane from waits
            union
            select changed.lane from changed where changed.refund > 0
            union
            select unnest(ranked.lanes) from ranked where ranked.place <= :limit::bigint) all_lanes
     order by all_lanes.lane collate "C"
), locked as materialized (
    select found.lane
      from wanted_lanes
     cross join lateral (select lane.lane from holdfast.lane where lane.lane = wanted_lanes.lane for update) found
), levels as materialized (
    select ranked.type, ranked.priority, array_agg(ranked.track) as tracks
      from ranked, moment
     where ranked.place <= :limit::bigint
       and (moment.orders = '{}'
            or not exists (select 1 from unnest(ranked.lanes) named (lane) where split_part(named.lane, chr(31), 1) = any(moment.orders)))
     group by ranked.type, ranked.priority
), numbered as materialized (
    -- As many jobs of each track as `jobs_to_read` says.
    select levels.*,
           case when dense_rank() over (order by levels.priority desc) <= :levels::bigint
                then (:limit::bigint - 1) / sum(cardinality(levels.tracks)) over (partition by levels.priority) + 1 else 1 end as jobs
      from levels
), passed_on as materialized (
    select set_config('holdfast_claim.lanes', array(select wanted_lanes.lane from wanted_lanes)::text, true),
           set_config('holdfast_claim.types', coalesce(array_agg(numbered.type), '{}')::text, true),
           set_config('holdfast_claim.priorities', coalesce(array_agg(numbered.priority), '{}')::text, true),
           set_config('holdfast_claim.jobs', coalesce(array_agg(numbered.jobs::bigint), '{}')::text, true),
           set_config('holdfast_claim.tracks', coalesce(array_agg(numbered.tracks::text), '{}')::text, true)
      from numbered
)
select null::text, null::text, (select count(*) from changed), null::text, null::text[], (select count(*) from locked), null::text, null::bigint,
       false
  from passed_on
union all
select ranked.track, ranked.type, ranked.priority, ranked.fair, ranked.lanes, ranked.turn, ranked.parked, ranked.first, ranked.shared from ranked
union all
select ready.track, ready.type, ready.priority, null, null, ready.turn, null, case when ready.state = 'moved' then ready.turn else ready.first end,
       ready.state = 'moved'
  from ready
 where ready.state = 'moved'
    or ready.state = 'not locked' and exists (select 1 from holdfast.track where track.track = ready.track)
union all
select null, 'refund', sum(changed.refund)::bigint, null, null, null, changed.lane, null, false
  from changed
 where changed.refund > 0
 group by changed.lane
union all
select null, 'behind', min(woken.priority), null, null, null, woken.parked, null, false
  from woken join waits on waits.lane = woken.parked and waits.type = woken.type
 group by woken.parked, woken.type, waits.room
having count(*) >= waits.room
