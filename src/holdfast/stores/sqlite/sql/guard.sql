-- guard: check that claims are still held.

-- claims: status and token of these jobs.
select id, status, token from holdfast_job where id in (select value from json_each(:ids))
