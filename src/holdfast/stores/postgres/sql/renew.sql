-- renew: leases go on; the answer is how the jobs stood.
-- skip locked: a row that is being settled is not waited for, lest it hold up every other renewal.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), asked as materialized (
    select * from unnest(:ids::text[], :tokens::text[], :leases::bigint[]) asked (id, token, lease)
), held as materialized (
    select job.seq, job.id, job.token
      from holdfast.job
     where job.id = any(:ids::text[]) and job.status = 'running'
     order by job.seq
       for no key update skip locked
), renewed as (
    update holdfast.job
       set leased_until = clock.now + asked.lease, renewed_at = clock.now
      from asked, clock
     where job.seq = any(array(select held.seq from held)) and asked.id = job.id and asked.token = job.token
)
select job.id, job.status, job.token from holdfast.job where job.id = any(:ids::text[])
