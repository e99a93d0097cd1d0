-- single_lane_claims: claim one job of each of many ready tracks. Each track has one lane, a limit or an order.
-- The client sends both statements at once, in one transaction, without waiting for an answer in between. They do nothing if a claim by the
-- general statements (lanes.sql) may decide differently: see `claim_single_lanes.py`.

-- single_lanes_lock_timeout: limit the wait for a track in the admission, which is the only wait.
-- The server has already received the rest. If the client gives up and repeats the claim, the server would later claim jobs that no
-- worker receives. After an error the server executes nothing of the rest.
select set_config('lock_timeout', '100ms', true)

-- single_lanes_lock: lock the best ready tracks and their lanes, and keep their ids for the next statement.
-- Also takes the changes of lanes, if no track waits for them: see lane_changes and lanes_waking.
-- The tracks are kept only if they fill the claim, have the same priority, and each has one lane, which no other one has.
-- skip locked: the server has already received the commit. If it waited, it would claim the jobs even if the client has given up. The
-- general statements wait instead.
with moment as materialized (
    select holdfast.clock(:now::bigint) as now, age(pg_snapshot_xmin(pg_current_snapshot())::xid) as oldest
), change as materialized (
    select first.ctid, first.lanes, first.refund
      from (select free.ctid, free.lanes, free.refund, sum(free.size) over (order by free.seq) - free.size as before
              from (select change.ctid, change.seq, change.size, change.lanes, change.refund from holdfast.lane_change change
                     where not change.new order by change.seq limit :changes::bigint for update skip locked) free) first
     where first.before < :changes::bigint
), general as materialized (
    select exists (select 1
                     from change cross join unnest(change.lanes) changed (lane), moment
                    where change.refund is not null
                       or (select true from holdfast.track where track.parked = changed.lane limit 1)
                       or (select age(lane.xmax) <= moment.oldest from holdfast.lane where lane.lane = changed.lane))
        or (select lane.wake_at from holdfast.lane where lane.wake_at is not null order by lane.wake_at limit 1)
           <= (select moment.now from moment) is true
        or exists (select 1
                     from unnest(:types::text[]) served (type)
                    where (select track.ready_at from holdfast.track
                            where track.parked is null and track.type = served.type and track.ready_at > 0
                            order by track.ready_at limit 1) <= (select moment.now from moment)) as needed
), taken as (
    delete from holdfast.lane_change
     where lane_change.ctid = any(array(select change.ctid from change, general where not general.needed))
), ready as materialized (
    select first.*
      from general cross join unnest(:types::text[]) served (type)
     cross join lateral (
        select track.track, track.priority, track.turn, track.lanes::json as lanes
          from holdfast.track
         where track.parked is null and track.ready_at = 0 and track.type = served.type
         order by track.priority desc, track.turn
         limit :limit::bigint
           for update skip locked) first
     where not general.needed and served.type not in (select paused.type from holdfast.paused)
), best as materialized (
    select ready.track, ready.priority, ready.turn, (ready.lanes ->> 0) collate "C" as lane, ready.lanes -> 1 is null as single
      from ready
     order by ready.priority desc, ready.turn
     limit :limit::bigint
), alike as materialized (
    select count(*) = :limit::bigint and bool_and(best.single) and min(best.priority) = max(best.priority)
           and count(distinct best.lane) = count(*) as fits
      from best
), locked as materialized (
    select held.lane
      from (select best.lane from best, alike where alike.fits order by best.lane) wanted
     cross join lateral (select lane.lane from holdfast.lane where lane.lane = wanted.lane for update skip locked) held
), kept as (
    select array_agg(best.track order by best.turn)::text as tracks, array_agg(best.lane order by best.turn)::text as lanes
      from best
     where (select count(*) from locked) = :limit::bigint
)
select set_config('holdfast_claim.tracks', coalesce(kept.tracks, '{}'), true), set_config('holdfast_claim.lanes', coalesce(kept.lanes, '{}'), true)
  from kept

-- single_lanes_claim: claim the first job of each of these tracks, of an order the job at the front.
-- A statement of its own: its snapshot is newer than the locks of the lanes.
-- Claims nothing unless each lane has room and no parked track, each track has a job that may start, the next job of the track, if
-- any, is due, and no due job without lanes has this priority or a higher one.
-- The position of a job that is the first of its chain, or whose order ends with the job, is its seq.
-- Tracks by ctid: the previous statement has locked them. Jobs by seq: a job may get a new row version after the snapshot of this statement, and
-- its lock then returns the new ctid, which an update by ctid would not find. A track without another job is deleted only if its job was claimed.
-- `(... in ...) is true` is a search in a hash table. Without `is true` it is a join, for which the planner expects one row: each job of
-- a track would be compared with all of the claim.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
with recursive moment as materialized (
    select holdfast.clock(:now::bigint) as now, holdfast.clock(null) * 4096 + 2048 as turn
), terms as materialized (
    select given.type, given.lease, given.max_attempts
      from unnest(:types::text[], :leases::bigint[], :limits::bigint[]) given (type, lease, max_attempts)
), given as materialized (
    select given.track, substr(given.track, 1, :prefix::integer) as prefix, given.lane, given.place
      from unnest(current_setting('holdfast_claim.tracks')::text[], current_setting('holdfast_claim.lanes')::text[])
           with ordinality given (track, lane, place)
), served as materialized (
    select same.*, same.track = given.track as own, given.lane, given.place
      from given
     cross join lateral (
        select track.ctid, track.track, track.type, track.priority
          from holdfast.track
         where track.track >= given.prefix and track.track < given.prefix || 'g'
           for update skip locked) same
), roomy as materialized (
    select served.ctid, served.track, served.type, served.priority, served.lane, rule.kind
      from served
     cross join lateral (select lane.override from holdfast.lane where lane.lane = served.lane offset 0) lane
      join holdfast.limits rule on rule.name = split_part(served.lane, chr(31), 1)
     where served.own
       and (select count(*) from holdfast.permit where permit.lane = served.lane)
           + (select count(*) from holdfast.job where job.status = 'running' and job.lane = served.lane)
           < case rule.kind when 'order' then least(1, coalesce(lane.override, rule.override, rule.declared))
                            when 'limit' then coalesce(lane.override, rule.override, rule.declared) else 0 end
       and (select true from holdfast.track where track.parked = served.lane limit 1) is null
), first as materialized (
    select roomy.*, found.seq
      from moment, roomy
     cross join lateral (
        select job.seq
          from holdfast.job
         where job.status = 'pending' and job.type = roomy.type and job.track = roomy.track and job.priority = roomy.priority
           and job.scheduled_at <= moment.now
         order by job.scheduled_at, job.seq
         limit 1
           for update skip locked) found
     where roomy.kind = 'limit'
    union all
    select roomy.*, found.seq
      from moment, roomy
     cross join lateral (
        select place.position from holdfast.place where place.lane = roomy.lane order by place.position limit 1) front
     cross join lateral (
        select job.seq
          from holdfast.job
         where job.seq = front.position and job.status || '' = 'pending' and job.track = roomy.track and job.scheduled_at <= moment.now
           for update skip locked) found
     where roomy.kind = 'order'
), chosen as materialized (
    select first.*, (select next.scheduled_at from holdfast.job next
                      where next.status = 'pending' and next.type = first.type and next.track = first.track
                        and next.priority = first.priority and next.seq <> first.seq
                      order by next.scheduled_at, next.seq limit 1) as following
      from first
), level (type, priority) as (
    select terms.type, (select job.priority from holdfast.job
                         where job.status = 'pending' and job.type = terms.type and job.track is null
                         order by job.track, job.priority desc limit 1)
      from terms
    union all
    select level.type, (select job.priority from holdfast.job
                         where job.status = 'pending' and job.type = level.type and job.track is null
                           and job.priority < level.priority
                         order by job.track, job.priority desc limit 1)
      from level
     where level.priority >= (select min(served.priority) from served)
), complete as materialized (
    select count(*) = :limit::bigint and bool_and(chosen.following is null or chosen.following <= moment.now)
           and not exists (
               select 1 from level, moment
                where level.priority >= (select min(served.priority) from served)
                  and level.type not in (select paused.type from holdfast.paused)
                  and (select job.scheduled_at from holdfast.job
                        where job.status = 'pending' and job.type = level.type and job.track is null and job.priority = level.priority
                        order by job.track, job.scheduled_at, job.seq limit 1) <= moment.now) as fits
      from chosen, moment
), claimed as (
    update holdfast.job
       set status = 'running', attempt = job.attempt + 1,
           max_attempts = coalesce(job.max_attempts, terms.max_attempts), worker = :worker::text, token = :token::text,
           leased_until = moment.now + terms.lease, renewed_at = moment.now, started_at = moment.now,
           progress = null, progress_note = null, lane = chosen.lane
      from chosen, terms, moment
     where (select complete.fits from complete) and job.seq = chosen.seq and job.status || '' = 'pending' and terms.type = chosen.type
    returning {record}
), turned as (
    update holdfast.track set turn = moment.turn + served.place
      from served, moment
     where (select complete.fits from complete) and track.ctid = served.ctid
       and served.track not in (select chosen.track from chosen where chosen.following is null)
), emptied as (
    delete from holdfast.track using chosen
     where (select complete.fits from complete) and chosen.following is null and track.ctid = chosen.ctid
       and (chosen.seq in (select claimed.seq from claimed)) is true
), listening as materialized (
    select exists (select 1 from holdfast.listener, moment where listener.until > moment.now) as present
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
    select moment.now, 'claimed', claimed.id, claimed.chain_id, claimed.type, claimed.attempt, claimed.worker
      from claimed, moment, listening
     where listening.present
     order by claimed.seq
)
select claimed.*, listening.present from claimed, listening
