-- reap_expired: running jobs of these types whose lease ran out, oldest first, now locked.
-- Those that are being settled, or renewed, at this moment are locked by others and passed over.
-- The last column has the jobs that were passed over. One row comes even if no job was locked.
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
       and job.status = 'running' and job.leased_until <= :now::bigint
     order by job.leased_until, job.seq
     limit :limit::bigint
       for update of job skip locked
)
select free.*, array(select expired.seq from expired
                      where expired.seq not in (select free.seq from free) limit :limit::bigint)
  from (select) one left join free on true
