-- keep: change the keep time of finished chains, given by their locked last jobs. The new time counts from now.
update holdfast.job
   set keep = case when :keep::bigint is not null then :now::bigint - job.finished_at + :keep::bigint end,
       expires_at = :now::bigint + :keep::bigint
 where job.seq = any(:seqs::bigint[]) and job.finished_at is not null
   and coalesce(job.finished_at + job.keep > :now::bigint, true)
returning job.seq

-- keep_expired: which of these jobs are past their keep time.
select job.seq from holdfast.job where job.seq = any(:seqs::bigint[]) and job.finished_at + job.keep <= :now::bigint
