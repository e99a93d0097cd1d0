-- delete: forget these jobs, which are whole chains, and all that belongs to them.
with gone as (
    delete from holdfast.job where job.seq = any(:seqs::bigint[])
    returning job.seq, job.id, job.chain_id, job.type, job.attempt, job.worker, job.status
), named as (
    delete from holdfast.blocker where blocker.job_id = any(array(select gone.id from gone))
), references_to as (
    delete from holdfast.blocker
     where blocker.chain_id = any(:chain_ids::text[]) and blocker.job_id <> all (array(select gone.id from gone))
), past as (
    delete from holdfast.attempt where attempt.job_id = any(array(select gone.id from gone))
), counted as (
    insert into holdfast.tally (type, jobs) select gone.type, -count(*) from gone group by gone.type
)
select gone.id, gone.chain_id, gone.type, gone.attempt, gone.worker, gone.status from gone order by gone.seq
