-- guard: check that claims are still held.

-- claims: status and token of these jobs.
select id, status, token from holdfast_job where id in (select value from json_each(:ids))

-- claim_of: the same for one job. Without a list it takes half of the time.
select status, token from holdfast_job where id = :id
