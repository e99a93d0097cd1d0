-- get_stats: counts per type, in one statement and so from one snapshot.
-- Completed jobs are the total minus all others, so they are not read.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
)
select type, 'all' as status, sum(jobs)::bigint as jobs, 0::bigint as due, null::bigint as oldest_due
  from holdfast.tally group by type
union all
select type, 'pending', count(*), count(*) filter (where scheduled_at <= clock.now),
       min(scheduled_at) filter (where scheduled_at <= clock.now)
  from holdfast.job, clock where status = 'pending' group by type
union all
select type, 'running', count(*), 0, null from holdfast.job where status = 'running' group by type
union all
select type, 'blocked', count(*), 0, null from holdfast.job where status = 'blocked' group by type
union all
select type, 'failed', count(*), 0, null from holdfast.job where status = 'failed' group by type
union all
select type, 'cancelled', count(*), 0, null from holdfast.job where status = 'cancelled' group by type
union all
select type, 'paused', 1, 0, null from holdfast.paused
