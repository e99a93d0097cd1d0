-- reap: jobs whose workers are gone; they may be claimed again at once, or have used up their attempts.
with lost as materialized (
    select * from unnest(:seqs::bigint[], :statuses::text[], :errors::bytea[]) lost (seq, status, error)
), past as (
    insert into holdfast.attempt (job_id, number, worker, started_at, ended_at, outcome, error, next_at)
    select job.id, job.attempt, job.worker, job.started_at, :now::bigint, 'lost', lost.error,
           case when lost.status = 'pending' then :now::bigint end
      from lost join holdfast.job on job.seq = lost.seq
     order by job.seq
)
update holdfast.job
   set status = lost.status, error = lost.error, worker = null, token = null, leased_until = null, renewed_at = null, mismatches = null,
       mismatched_at = null,
       scheduled_at = case when lost.status = 'pending' then :now::bigint else job.scheduled_at end,
       finished_at = case when lost.status = 'failed' then :now::bigint end,
       expires_at = case when lost.status = 'failed' then :now::bigint + job.keep end
  from lost
 where job.seq = any(:seqs::bigint[]) and job.seq = lost.seq
