-- renew: extend leases. Returns the state of the jobs.
-- skip locked: a row that is being settled or reaped is not waited for, because that would delay all other renewals.
-- The last column says whether the lease was renewed.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), asked as materialized (
    select * from unnest(:ids::text[], :tokens::text[], :leases::bigint[]) asked (id, token, lease)
), held as materialized (
    select found.seq
      from asked
     cross join lateral (
        select job.seq from holdfast.job where job.id = asked.id and job.status || '' = 'running' for no key update skip locked) found
), renewed as (
    update holdfast.job
       set leased_until = clock.now + asked.lease, renewed_at = clock.now
      from asked, clock
     where job.seq = any(array(select held.seq from held)) and asked.id = job.id and asked.token = job.token
    returning job.id
)
select job.id, job.status, job.token, job.id = any(array(select renewed.id from renewed))
  from holdfast.job
 where job.id = any(:ids::text[])

-- renew_pause: wait a moment for transactions that lock rows.
select pg_sleep(0.01)
