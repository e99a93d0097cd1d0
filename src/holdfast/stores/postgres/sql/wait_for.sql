-- wait_for: come back when nobody else holds this job; no row if there is none.
select job.seq from holdfast.job where job.id = :id::text for update
