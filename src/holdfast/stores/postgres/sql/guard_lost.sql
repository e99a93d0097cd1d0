-- guard_lost: how a job stands whose claim is not good.
select job.status, job.token from holdfast.job where job.id = :id::text
