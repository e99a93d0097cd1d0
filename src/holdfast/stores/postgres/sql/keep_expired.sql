-- keep_expired: which of these jobs are past their keep time.
select job.seq from holdfast.job where job.seq = any(:seqs::bigint[]) and job.expires_at <= :now::bigint
