-- lanes_admit: add the tracks of new jobs, with their lanes and limits. A statement of its own: the rows are visible to all
-- when a claim locks them. Returns the types, and the number of the next turn.
-- A track that exists is written only if a claim would not read it: a ready track, or one that is parked at a limit or a rate,
-- stays as it is. Such a track is not even locked, unless a transaction that has not ended has locked it (`xmax`): that may be a claim
-- that is about to delete it. Then this statement waits, and adds the track again. A claim that locks the track
-- later reads its jobs after that, so it finds the new one.
-- The tracks are added, or locked if they exist, in one order. If some were locked before others are added, two admissions
-- could wait for each other: a track may exist for one of them only.
-- By ctid, as in the next statement: the rows are locked, so their ctids do not change. By seq, the planner might expect
-- few new rows, and compare each of them with the whole array.
-- synchronous_commit: after a crash of the server, either both the changes and the tracks are lost, or neither.
with begun as materialized (
    select holdfast.clock(null) * 4096 as turn, age(pg_snapshot_xmin(pg_current_snapshot())::xid) as oldest,
           set_config('synchronous_commit', 'off', true)
), taken as materialized (
    delete from holdfast.lane_change
     where lane_change.ctid = any(array(
        select first.ctid
          from (select free.ctid, sum(free.size) over (order by free.seq) - free.size as before
                  from (select change.ctid, change.seq, change.size from holdfast.lane_change change
                         where change.new order by change.seq limit :limit::bigint for update skip locked) free) first
         where first.before < :limit::bigint))
    returning lane_change.seq, lane_change.tracks, lane_change.details
), first as materialized (
    select distinct on (entry.track) entry.track, entry.details, taken.seq, entry.place
      from taken cross join unnest(taken.tracks, taken.details) with ordinality entry (track, details, place)
     order by entry.track, taken.seq, entry.place
), orders as materialized (
    select limits.name from holdfast.limits where limits.kind = 'order'
), unchanged as materialized (
    select track.track, track.type
      from begun, first join holdfast.track on track.track = first.track
     where age(track.xmax) > begun.oldest and track.ready_at = 0
       and (track.parked is null or split_part(track.parked, chr(31), 1) not in (select orders.name from orders))
), wanted as materialized (
    select first.*, first.details::json -> 'lanes' as lanes from first where first.track not in (select unchanged.track from unchanged)
), rule as materialized (
    select found.* from wanted cross join lateral holdfast.lane_rules(wanted.details) found
), new_limits as (
    insert into holdfast.limits (name, kind, declared, per, burst)
    select distinct on (split_part(rule.lane, chr(31), 1)) split_part(rule.lane, chr(31), 1), rule.kind, rule.number, rule.per, rule.burst
      from rule
     where not exists (select 1 from holdfast.limits where limits.name = split_part(rule.lane, chr(31), 1))
     order by split_part(rule.lane, chr(31), 1)
        on conflict do nothing
), new_lanes as (
    insert into holdfast.lane (lane)
    select distinct rule.lane collate "C" from rule
     where not exists (select 1 from holdfast.lane where lane.lane = rule.lane)
     order by 1
        on conflict do nothing
), new_tracks as (
    insert into holdfast.track (track, type, priority, fair, lanes, turn)
    select wanted.track, wanted.lanes ->> 'type', (wanted.lanes ->> 'priority')::bigint, wanted.lanes ->> 'fair',
           (select json_agg(found ->> 'lane')::text from json_array_elements(wanted.lanes -> 'rules') found),
           begun.turn + row_number() over (order by wanted.seq, wanted.place)
      from wanted, begun
     order by wanted.track
        on conflict (track) do update
       set ready_at = 0,
           parked = case when split_part(track.parked, chr(31), 1) in (select orders.name from orders) then null else track.parked end
     where track.ready_at <> 0 or split_part(track.parked, chr(31), 1) in (select orders.name from orders)
)
select array(select unchanged.type from unchanged union select wanted.lanes ->> 'type' from wanted), begun.turn + 2048
  from begun

-- lanes_add: add lanes that the store does not have.
insert into holdfast.lane (lane)
select wanted.lane from json_array_elements_text(:lanes::json) wanted (lane) order by wanted.lane
    on conflict do nothing

-- limits_add: add limits that the store does not have.
insert into holdfast.limits (name, kind, declared, per, burst)
select wanted.name, wanted.kind, wanted.number, wanted.per, wanted.burst
  from json_to_recordset(:limits::json) wanted (name text, kind text, number bigint, per bigint, burst bigint)
    on conflict do nothing
