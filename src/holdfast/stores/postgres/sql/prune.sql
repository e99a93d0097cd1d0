-- prune_expired: lock finished chains past their keep time, oldest first, except those that an unfinished job names.
-- offset 0: examine the blockers of one chain at a time. Otherwise the planner may join with all jobs of all blockers.
select job.chain_id
  from holdfast.job
 where job.expires_at <= :now::bigint
   and not exists (
       select 1
         from holdfast.blocker
         join holdfast.job dependent on dependent.id = blocker.job_id
        where blocker.chain_id = job.chain_id
          and dependent.status in ('blocked', 'pending', 'running')
          and dependent.chain_id <> job.chain_id
       offset 0)
   and not exists (select 1 from holdfast.place where place.chain_id = job.chain_id offset 0)
 order by job.expires_at, job.chain_id
 limit :limit::bigint
   for update of job skip locked

-- prune_keys: delete keys that were not used for a day, unless a chain has them. Keys of chains are checked
-- again a day later. The statement assumes that no transaction with a snapshot older than a day starts chains.
with idle as materialized (
    select key.type, key.key,
           exists (select 1 from holdfast.job where job.key = key.key and job.type = key.type) as needed
      from holdfast.key
     where key.used_at < :now::bigint - 86400000000
     order by key.used_at
     limit 500
       for update of key skip locked
), looked_at as (
    update holdfast.key set used_at = :now::bigint
      from idle where idle.needed and key.type = idle.type and key.key = idle.key
)
delete from holdfast.key using idle where not idle.needed and key.type = idle.type and key.key = idle.key

-- prune_marks: delete old marks. Their processes ended before they looked for the marks.
with old as materialized (
    select mark.id
      from holdfast.mark
     where mark.written_at < holdfast.clock(null) - 86400000000
     order by mark.written_at
     limit 10000
       for update skip locked
)
delete from holdfast.mark using old where mark.id = old.id

-- prune_clear: remove the payloads of locked jobs whose chains exist only because their keys are not free yet.
-- The jobs are found by their seqs only. A join with the last jobs of the chains would be planned with a condition on
-- expires_at, and with statistics from before the first chain ended it would read all expired chains.
with ended as materialized (
    select job.seq,
           max(job.finished_at) filter (where job.expires_at is not null and job.status = 'completed') over chain
           + max(job.dedup_for) filter (where job.chain_index = 0) over chain as until
      from holdfast.job
     where job.seq = any(:seqs::bigint[])
    window chain as (partition by job.chain_id)
), cleared as (
    update holdfast.job
       set input = :input::bytea, output = null, error = null,
           expires_at = case when job.expires_at is not null then ended.until end
      from ended
     where job.seq = ended.seq and ended.until > :now::bigint
    returning job.seq, job.id, job.chain_id
), past as (
    delete from holdfast.attempt where attempt.job_id = any(array(select cleared.id from cleared))
), steps as (
    delete from holdfast.step where step.job_id = any(array(select cleared.id from cleared))
), messages as (
    delete from holdfast.message where message.chain_id = any(array(select cleared.chain_id from cleared))
)
select cleared.seq, cleared.chain_id from cleared
