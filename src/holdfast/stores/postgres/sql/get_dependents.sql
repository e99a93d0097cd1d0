-- get_dependents: the unfinished jobs that name a chain as a blocker, oldest first.
select record.*
  from holdfast.record
 where record.id in (select blocker.job_id from holdfast.blocker where blocker.chain_id = :chain_id::text)
   and record.status in ('blocked', 'pending', 'running')
 order by record.seq
 limit :limit::bigint
