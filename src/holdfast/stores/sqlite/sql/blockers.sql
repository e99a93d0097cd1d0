-- blockers: the chains that a job names, in the order given.
select chain_id from holdfast_blocker where job_id = :job_id order by position
