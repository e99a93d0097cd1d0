-- end_lost_attempts: terminate the sessions of lost workers that lock these jobs.
select ended.job_id, ended.pid from holdfast.end_lost_attempts(:seqs::bigint[], :now::bigint) ended
