-- find_ids: which of these jobs exist, and their chains.
select job.id, job.chain_id from holdfast.job where job.id = any(:ids::text[])

-- find_keys: for each of these jobs, the newest chain in its dedup scope.
select wanted.place, found.id
  from unnest(:types::text[], :keys::text[], :sinces::bigint[], :scopes::text[], :excludes::text[]) with ordinality
       wanted (type, key, since, scope, exclude, place)
 cross join lateral (
    select first.id
      from holdfast.job first
      left join lateral (
        select tail.status, tail.expires_at, tail.finished_at
          from holdfast.job tail
         where tail.chain_id = first.id and tail.chain_index > 0
         order by tail.chain_index desc
         limit 1) last on true
     where first.key = wanted.key and first.type = wanted.type and first.chain_index = 0
       and (wanted.since is null or first.created_at > wanted.since)
       and (wanted.exclude is null or first.id <> all (string_to_array(wanted.exclude, chr(31))))
       and (wanted.scope = 'any'
            or coalesce(last.status, first.status) in ('blocked', 'pending', 'running')
               and (wanted.scope <> 'waiting' or first.status in ('blocked', 'pending')
                    and not exists (select 1 from holdfast.step where step.job_id = first.id))
            or wanted.scope = 'successful' and coalesce(last.status, first.status) = 'completed'
               and coalesce(case when first.dedup_for is not null
                                 then coalesce(last.finished_at, first.finished_at) + first.dedup_for
                                 when last.status is null then first.expires_at else last.expires_at end > :now::bigint, true))
     order by first.seq desc
     limit 1) found

-- find_replaced: for each of these starts, the chain that an earlier try replaced, if the answer to that try was lost.
select wanted.place, first.id
  from unnest(:ids::text[], :types::text[], :keys::text[]) with ordinality wanted (id, type, key, place)
  join holdfast.job first on first.key = wanted.key and first.type = wanted.type and first.chain_index = 0
 where first.replaced_by = wanted.id

-- lock_keys: lock these keys until the transaction ends, so that one caller at a time searches and creates.
-- The rows are updated, not only locked: a transaction with an older snapshot fails instead of missing a new chain.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
)
insert into holdfast.key (type, key, used_at)
select wanted.type, wanted.key, clock.now
  from clock, unnest(:types::text[], :keys::text[]) wanted (type, key)
 order by wanted.type, wanted.key
    on conflict (type, key) do update set used_at = excluded.used_at
returning 1
