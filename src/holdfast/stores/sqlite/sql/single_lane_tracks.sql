-- single_lane_tracks: read tracks that have one lane, a limit or an order, each with the state of the lane and its first job.
-- One statement instead of three for lanes, jobs and records: a claim of such tracks spends most of its time in these reads.
-- A track is left out if it has no job that may start: then the claim reads all of its tracks by the general statements.
-- The columns: the track; its lane; the number in force; how many jobs hold the lane; whether tracks are parked there; when
-- the next job of the track is due; the record of the job.

-- limit_tracks: these tracks, whose lane is a limit, with their first due jobs.
select track.track, lane.lane, coalesce(lane.override, rule.override, rule.declared),
       (select count(*) from holdfast_permit permit where permit.lane = lane.lane)
       + (select count(*) from holdfast_job held where held.lane = lane.lane and held.status = 'running'),
       exists (select 1 from holdfast_track other where other.parked = lane.lane),
       (select next.scheduled_at from holdfast_job next
         where next.status = 'pending' and next.type = track.type and next.track_seq = track.seq and next.priority = track.priority
         order by next.scheduled_at, next.seq
         limit 1 offset 1),
       job.*
  from json_each(:tracks) asked
 cross join holdfast_track track on track.seq = asked.value
 cross join holdfast_lane lane on lane.lane = track.lane
 cross join holdfast_limit rule on rule.name = substr(lane.lane, 1, instr(lane.lane, char(31)) - 1) and rule.kind = 'limit'
 cross join holdfast_record job on job.seq = (
    select first.seq from holdfast_job first
     where first.status = 'pending' and first.type = track.type and first.track_seq = track.seq and first.priority = track.priority
       and first.scheduled_at <= :now
     order by first.scheduled_at, first.seq
     limit 1)

-- order_tracks: these tracks, whose lane is an order, with the jobs at the front.
-- The position of a job that is the first of its chain, or whose order ends with the job, is its seq.
select track.track, lane.lane, coalesce(lane.override, rule.override, rule.declared),
       (select count(*) from holdfast_permit permit where permit.lane = lane.lane)
       + (select count(*) from holdfast_job held where held.lane = lane.lane and held.status = 'running'),
       exists (select 1 from holdfast_track other where other.parked = lane.lane),
       (select next.scheduled_at from holdfast_job next
         where next.status = 'pending' and next.type = track.type and next.track_seq = track.seq and next.priority = track.priority
           and next.seq <> job.seq
         order by next.scheduled_at
         limit 1),
       job.*
  from json_each(:tracks) asked
 cross join holdfast_track track on track.seq = asked.value
 cross join holdfast_lane lane on lane.lane = track.lane
 cross join holdfast_limit rule on rule.name = substr(lane.lane, 1, instr(lane.lane, char(31)) - 1) and rule.kind = 'order'
 cross join holdfast_job front on front.seq = (select min(place.position) from holdfast_place place where place.lane = lane.lane)
        and +front.status = 'pending' and front.track_seq = track.seq and front.scheduled_at <= :now
 cross join holdfast_record job on job.seq = front.seq
