-- forget_blockers: delete the blockers of a chain that will be replaced.
delete from holdfast.blocker
 where blocker.job_id = :id::text
   and exists (select 1 from holdfast.job
                where job.id = :id::text and job.chain_index = 0 and job.type = :type::text and job.key = :key::text
                  and job.status in ('pending', 'blocked')
                  and (not :unsure::boolean or job.replaced_by is distinct from :start_id::text))

-- replace_chain: write the input and the options of another start to a locked chain that has not begun.
-- unsure: the same start may have been written before. Then it is not written again.
-- least ignores a null: without due_within, only the start determines the due time.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as materialized (
    select exists (select 1 from holdfast.listener, clock where listener.until > clock.now) as present
), replaced as (
    update holdfast.job
       set status = case when :open_blockers::int > 0 then 'blocked' else 'pending' end, input = :input::bytea,
           priority = :priority::bigint, {options: * = :*::bigint}, details = :details::text,
           on_blocker_failure = :on_blocker_failure::text, track = :track::text, lane = null,
           blockers = cardinality(:after::text[]), open_blockers = :open_blockers::int,
           attempt = 0, error = null, progress = null, progress_note = null, started_at = null, mismatches = null,
           mismatched_at = null, counted = null, replaced_by = :start_id::text,
           debounced_at = case when job.attempt > 0 then clock.now else job.debounced_at end,
           scheduled_at = greatest(clock.now, least(
               coalesce(:at::bigint, clock.now + :delay::bigint),
               :due_within::bigint + case when job.attempt > 0 then clock.now
                                          else coalesce(job.debounced_at, job.created_at) end))
      from clock
     where job.id = :id::text and job.chain_index = 0 and job.type = :type::text and job.key = :key::text
       and job.status in ('pending', 'blocked')
       and (not :unsure::boolean or job.replaced_by is distinct from :start_id::text)
    returning job.seq, job.id, job.type
), named as (
    insert into holdfast.blocker (job_id, position, chain_id)
    select replaced.id, named.place - 1, named.chain_id
      from replaced, unnest(:after::text[]) with ordinality named (chain_id, place)
), recorded as (
    insert into holdfast.event (at, kind, job_id, chain_id, type, attempt)
    select clock.now, 'replaced', replaced.id, replaced.id, replaced.type, 0
      from replaced, clock, listening
     where listening.present
)
select replaced.seq, clock.now, listening.present from replaced, clock, listening
