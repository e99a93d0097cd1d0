-- guard: how a job stands, and stays until the transaction ends.
-- key share: renewals go on beside it, every other change waits.
select job.status, job.token from holdfast.job where job.id = :id::text for key share
