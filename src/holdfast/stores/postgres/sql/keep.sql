-- keep: finished chains, by their locked last jobs, are kept for another while from now on.
update holdfast.job
   set keep = case when :keep::bigint is not null then :now::bigint - job.finished_at + :keep::bigint end,
       expires_at = :now::bigint + :keep::bigint
 where job.seq = any(:seqs::bigint[]) and job.finished_at is not null
   and coalesce(job.expires_at > :now::bigint, true)
returning job.seq
