-- insert_job: one new job that waits for nothing, the first of its chain. insert_jobs, without what only lists need:
-- most of what a lone start takes the server is to set the statement up.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), created as (
    insert into holdfast.job (id, type, chain_id, status, priority, max_attempts, created_at, scheduled_at, timeout, keep,
                              trace, on_blocker_failure, input)
    select :id::text, :type::text, :id::text, 'pending', :priority::bigint, :max_attempts::bigint, clock.now,
           greatest(clock.now, coalesce(:at::bigint, clock.now + :delay::bigint)), :timeout::bigint, :keep::bigint,
           :trace::text, :on_blocker_failure::text, :input::bytea
      from clock
        on conflict (id) do nothing
    returning seq
), counted as (
    insert into holdfast.tally (type, jobs) select :type::text, 1 from created
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt)
    select clock.now, 'created', :id::text, :id::text, :type::text, 0
      from created, clock
     where exists (select 1 from holdfast.listener where listener.until > clock.now)
)
select array(select created.seq from created), clock.now,
       exists (select 1 from holdfast.listener where listener.until > clock.now)
  from clock
