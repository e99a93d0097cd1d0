-- claim: claim due jobs, best first.
-- The last columns: whether no worker had claimed the job before, null unless `finds_new`; whether there are listeners;
-- whether jobs with lanes may be claimed; whether there are several levels, so that more jobs may be due than were
-- claimed; the duration on the server; and, after a long scan, the number of dead rows. A level is a pair of type and
-- priority.
-- skip locked: a row that another worker is claiming is skipped, never waited for.
-- materialized: without it the planner may lock and claim more rows than the limit.
-- One ordered index scan per level, so that neither the backlog nor jobs scheduled for later are read.
-- After `limit` jobs, up to `ahead` more are claimed, if the terms of these jobs and of all better ones allow it.
-- Only jobs without lanes. `unless_lanes`: claim none if jobs with lanes may be claimed too. See claim_lanes.
-- order by track, which is null: with this column, the order is that of the index.
with recursive clock as materialized (
    select holdfast.clock(:now::bigint) as now, clock_timestamp() as begun
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), lanes as materialized (
    select (select lane_change.seq from holdfast.lane_change order by lane_change.new, lane_change.seq limit 1) is not null
        or (select lane.wake_at from holdfast.lane where lane.wake_at is not null order by lane.wake_at limit 1)
           <= (select clock.now from clock) is true
        or exists (select 1 from unnest(:types::text[]) served (type)
                    where served.type not in (select paused.type from holdfast.paused)
                      and (select track.ready_at from holdfast.track where track.parked is null and track.type = served.type
                            order by track.ready_at limit 1) <= (select clock.now from clock)) as present
), wanted as materialized (
    select terms.type, terms.lease, terms.max_attempts, terms.ahead
      from unnest(:types::text[], :leases::bigint[], :limits::bigint[], :aheads::boolean[])
           terms (type, lease, max_attempts, ahead), lanes
     where terms.type not in (select paused.type from holdfast.paused) and not (:unless_lanes::boolean and lanes.present)
), level (type, priority) as (
    select wanted.type, (select job.priority from holdfast.job
                          where job.status = 'pending' and job.type = wanted.type and job.track is null
                          order by job.track, job.priority desc limit 1)
      from wanted
    union all
    select level.type, (select job.priority from holdfast.job
                         where job.status = 'pending' and job.type = level.type and job.track is null
                           and job.priority < level.priority
                         order by job.track, job.priority desc limit 1)
      from level
     where level.priority is not null
), levels as materialized (
    select level.type, level.priority, wanted.ahead, count(*) over () as number
      from level join wanted on wanted.type = level.type
     where level.priority is not null
), ranked as (
    -- With several levels, only those jobs of each level are locked that are among the best of all.
    select levels.type, levels.priority, levels.ahead,
           row_number() over (order by levels.priority desc, first.scheduled_at, first.seq) as place
      from levels
     cross join lateral (
        select job.scheduled_at, job.seq
          from holdfast.job
         where job.status = 'pending' and job.type = levels.type and job.track is null and job.priority = levels.priority
           and job.scheduled_at <= (select clock.now from clock)
         order by job.track, job.scheduled_at, job.seq
         limit :limit::bigint + :ahead::bigint) first
     where levels.number > 1
     order by place
     limit :limit::bigint + :ahead::bigint
), share as materialized (
    select ranked.type, ranked.priority, count(*) as jobs
      from ranked
     where ranked.place <= :limit::bigint
        or ranked.place < coalesce((select min(slow.place) from ranked slow where not slow.ahead), ranked.place + 1)
     group by ranked.type, ranked.priority
    union all
    select levels.type, levels.priority, :limit::bigint + case when levels.ahead then :ahead::bigint else 0 end
      from levels
     where levels.number = 1
), free as materialized (
    select first.seq, first.new
      from share
     cross join lateral (
        select job.seq, job.started_at is null as new
          from holdfast.job
         where job.status = 'pending' and job.type = share.type and job.track is null and job.priority = share.priority
           and job.scheduled_at <= (select clock.now from clock)
         order by job.track, job.scheduled_at, job.seq
         limit share.jobs
           for update skip locked) first
), due as materialized (
    -- If other transactions lock all of the best jobs, claim other ones.
    select free.seq, free.new from free
    union all
    (select next.seq, next.new
       from levels
      cross join lateral (
         select job.seq, job.started_at is null as new
           from holdfast.job
          where job.status = 'pending' and job.type = levels.type and job.track is null and job.priority = levels.priority
            and job.scheduled_at <= (select clock.now from clock)
          order by job.track, job.scheduled_at, job.seq
          limit :limit::bigint
            for update skip locked) next
      where levels.number > 1 and not exists (select 1 from free)
      limit :limit::bigint)
), claimed as (
    update holdfast.job
       set status = 'running', attempt = job.attempt + 1,
           max_attempts = coalesce(job.max_attempts, wanted.max_attempts), worker = :worker::text, token = :token::text,
           leased_until = clock.now + wanted.lease, renewed_at = clock.now, started_at = clock.now,
           progress = null, progress_note = null
      from wanted, clock
     where job.seq = any(array(select due.seq from due)) and wanted.type = job.type
    returning {record}
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
    select clock.now, 'claimed', claimed.id, claimed.chain_id, claimed.type, claimed.attempt, claimed.worker
      from claimed, clock, listening
     where listening.present
     order by claimed.priority desc, claimed.scheduled_at, claimed.seq
)
select claimed.*, case when :finds_new::boolean then claimed.seq in (select due.seq from due where due.new) end,
       listening.present, (select lanes.present from lanes), (select count(*) > 1 from levels),
       (extract(epoch from clock_timestamp() - clock.begun) * 1000000)::bigint,
       case when clock_timestamp() - clock.begun > interval '2 milliseconds'
            then pg_stat_get_dead_tuples('holdfast.job'::regclass) else 0 end
  from clock cross join listening left join claimed on true

-- claim_from: claim due jobs, best first, starting where the last claims ended.
-- Used while an old snapshot keeps vacuum from removing the entries of claimed jobs. See claim for the rest.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now, clock_timestamp() as begun
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), wanted as materialized (
    select terms.type, terms.lease, terms.max_attempts, terms.ahead
      from unnest(:types::text[], :leases::bigint[], :limits::bigint[], :aheads::boolean[])
           terms (type, lease, max_attempts, ahead)
     where terms.type not in (select paused.type from holdfast.paused)
), scan as materialized (
    -- A start in the future means that the clock was set back.
    select given.type, given.priority, given.scheduled_at, given.seq, wanted.ahead
      from clock, wanted
      join unnest(:scanned::text[], :priorities::bigint[], :scheduled::bigint[], :seqs::bigint[])
           given (type, priority, scheduled_at, seq) on given.type = wanted.type
     where given.scheduled_at <= clock.now
), ranked as (
    select scan.type, scan.priority, scan.ahead,
           row_number() over (order by scan.priority desc, first.scheduled_at, first.seq) as place
      from scan
     cross join lateral (
        select job.scheduled_at, job.seq
          from holdfast.job
         where job.status = 'pending' and job.type = scan.type and job.track is null and job.priority = scan.priority
           and (job.scheduled_at, job.seq) >= (scan.scheduled_at, scan.seq)
           and job.scheduled_at <= (select clock.now from clock)
         order by job.track, job.scheduled_at, job.seq
         limit :limit::bigint + :ahead::bigint) first
     order by place
     limit :limit::bigint + :ahead::bigint
), share as materialized (
    select ranked.type, ranked.priority, count(*) as jobs
      from ranked
     where ranked.place <= :limit::bigint
        or ranked.place < coalesce((select min(slow.place) from ranked slow where not slow.ahead), ranked.place + 1)
     group by ranked.type, ranked.priority
), due as materialized (
    select first.seq, first.new
      from share
      join scan on scan.type = share.type and scan.priority = share.priority
     cross join lateral (
        select job.seq, job.started_at is null as new
          from holdfast.job
         where job.status = 'pending' and job.type = share.type and job.track is null and job.priority = share.priority
           and (job.scheduled_at, job.seq) >= (scan.scheduled_at, scan.seq)
           and job.scheduled_at <= (select clock.now from clock)
         order by job.track, job.scheduled_at, job.seq
         limit share.jobs
           for update skip locked) first
), claimed as (
    update holdfast.job
       set status = 'running', attempt = job.attempt + 1,
           max_attempts = coalesce(job.max_attempts, wanted.max_attempts), worker = :worker::text, token = :token::text,
           leased_until = clock.now + wanted.lease, renewed_at = clock.now, started_at = clock.now,
           progress = null, progress_note = null
      from wanted, clock
     where job.seq = any(array(select due.seq from due)) and wanted.type = job.type
    returning {record}
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
    select clock.now, 'claimed', claimed.id, claimed.chain_id, claimed.type, claimed.attempt, claimed.worker
      from claimed, clock, listening
     where listening.present
     order by claimed.priority desc, claimed.scheduled_at, claimed.seq
)
select claimed.*, case when :finds_new::boolean then claimed.seq in (select due.seq from due where due.new) end,
       listening.present, false, false, (extract(epoch from clock_timestamp() - clock.begun) * 1000000)::bigint,
       case when clock_timestamp() - clock.begun > interval '2 milliseconds'
            then pg_stat_get_dead_tuples('holdfast.job'::regclass) else 0 end
  from clock cross join listening left join claimed on true

-- claimed_before: the jobs of a claim whose answer was lost.
select record.* from holdfast.record
 where record.status = 'running' and record.type = any(:types::text[]) and record.token = :token::text

-- plain_priorities: the priorities of the best due jobs of these types that have no lanes, and how many there are of each.
with recursive wanted as materialized (
    select terms.type from unnest(:types::text[]) terms (type) where terms.type not in (select paused.type from holdfast.paused)
), level (type, priority) as (
    select wanted.type, (select job.priority from holdfast.job
                          where job.status = 'pending' and job.type = wanted.type and job.track is null
                          order by job.track, job.priority desc limit 1)
      from wanted
    union all
    select level.type, (select job.priority from holdfast.job
                         where job.status = 'pending' and job.type = level.type and job.track is null
                           and job.priority < level.priority
                         order by job.track, job.priority desc limit 1)
      from level
     where level.priority is not null
)
select level.priority, sum(first.jobs)::bigint
  from level
 cross join lateral (
    select count(*) as jobs from (
        select 1 from holdfast.job
         where job.status = 'pending' and job.type = level.type and job.track is null and job.priority = level.priority
           and job.scheduled_at <= :now::bigint
         limit :limit::bigint) best) first
 where level.priority is not null and first.jobs > 0
 group by level.priority
 order by level.priority desc

-- claim_chosen: claim these locked jobs. `lanes`: the lane that the job holds by itself, or null.
with wanted as materialized (
    select terms.type, terms.lease, terms.max_attempts
      from unnest(:types::text[], :leases::bigint[], :limits::bigint[]) terms (type, lease, max_attempts)
)
update holdfast.job
   set status = 'running', attempt = job.attempt + 1,
       counted = case when job.seq = any(:counted::bigint[]) then job.attempt + 1 else job.counted end,
       max_attempts = coalesce(job.max_attempts, wanted.max_attempts), worker = :worker::text, token = :token::text,
       leased_until = :now::bigint + wanted.lease, renewed_at = :now::bigint, started_at = :now::bigint,
       progress = null, progress_note = null, lane = chosen.lane
  from wanted, unnest(:seqs::bigint[], :lanes::text[]) chosen (seq, lane)
 where job.seq = any(:seqs::bigint[]) and chosen.seq = job.seq and wanted.type = job.type
returning {record}
