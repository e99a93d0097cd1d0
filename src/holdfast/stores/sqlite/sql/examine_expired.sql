-- examine_expired: running jobs whose lease ran out.
select count(*), min(leased_until) from holdfast_job where status = 'running' and leased_until <= :now
