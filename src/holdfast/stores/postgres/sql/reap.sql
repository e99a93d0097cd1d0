-- reap_expired: lock running jobs of these types with an expired lease, oldest first.
-- Jobs that are being settled or renewed are locked by others and skipped.
-- The last column has the skipped jobs. There is one row even if no job was locked.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
with expired as materialized (
    select job.seq
      from holdfast.job
     where job.status = 'running' and job.type = any(:types::text[]) and job.leased_until <= :now::bigint
       and not exists (select 1 from unnest(:held_ids::text[], :held_tokens::text[]) held (id, token)
                        where held.id = job.id and held.token = job.token)
), free as materialized (
    select record.*, job.awaited
      from holdfast.job
      join holdfast.record on record.seq = job.seq
     where job.seq = any(array(select expired.seq from expired))
       and job.status || '' = 'running' and job.leased_until <= :now::bigint
     order by job.leased_until, job.seq
     limit :limit::bigint
       for update of job skip locked
)
select free.*, array(select expired.seq from expired
                      where expired.seq not in (select free.seq from free) limit :limit::bigint)
  from (select) one left join free on true

-- reap: end the attempts of locked jobs with an expired lease. The jobs become pending, or fail after the last attempt.
with lost as materialized (
    select * from unnest(:seqs::bigint[], :statuses::text[], :errors::bytea[]) with ordinality lost (seq, status, error, place)
), past as (
    insert into holdfast.attempt (job_id, number, worker, started_at, ended_at, outcome, error, next_at)
    select job.id, job.attempt, job.worker, job.started_at, :now::bigint, 'lost', lost.error,
           case when lost.status = 'pending' then :now::bigint end
      from lost join holdfast.job on job.seq = lost.seq
     order by job.seq
), counters as (
    insert into holdfast.counter_change (type, minute, kind, number, fingerprint, summary, example, at)
    select counted.type, :now::bigint / 60000000, counted.kind, count(*), counted.fingerprint,
           case when counted.fingerprint is not null then '["LeaseLost","lease lost",""]' end,
           (array_agg(counted.id order by counted.place desc))[1],
           case when counted.fingerprint is not null then :now::bigint end
      from (select job.type, job.id, lost.place, 'reaped' as kind,
                   case when lost.status = 'pending' then 'LeaseLost:' || job.type end as fingerprint
              from lost join holdfast.job on job.seq = lost.seq
            union all
            select job.type, job.id, lost.place, 'failed', 'LeaseLost:' || job.type
              from lost join holdfast.job on job.seq = lost.seq
             where lost.status = 'failed') counted
     group by counted.type, counted.kind, counted.fingerprint
)
update holdfast.job
   set fingerprint = case when lost.status = 'failed' then 'LeaseLost:' || job.type end,
       status = lost.status, error = lost.error, worker = null, token = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       scheduled_at = case when lost.status = 'pending' then :now::bigint else job.scheduled_at end,
       finished_at = case when lost.status = 'failed' then :now::bigint end,
       expires_at = case when lost.status = 'failed' then :now::bigint + job.keep end
  from lost
 where job.seq = any(:seqs::bigint[]) and job.seq = lost.seq
