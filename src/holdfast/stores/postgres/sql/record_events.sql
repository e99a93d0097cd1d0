-- record_events: what happened, for those who listen.
insert into holdfast.event (at, kind, job_id, chain_id, type, attempt, worker)
select happened.at, happened.kind, happened.job_id, happened.chain_id, happened.type, happened.attempt, happened.worker
  from unnest(:nows::bigint[], :kinds::text[], :job_ids::text[], :chain_ids::text[], :types::text[], :attempts::bigint[],
              :workers::text[]) with ordinality
       happened (at, kind, job_id, chain_id, type, attempt, worker, place)
 order by happened.place
