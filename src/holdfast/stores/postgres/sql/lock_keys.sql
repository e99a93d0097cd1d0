-- lock_keys: hold these keys until the transaction ends, so that one caller at a time looks and creates.
-- Written to, not only locked: in a transaction with an older snapshot this fails instead of overlooking a chain.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
)
insert into holdfast.key (type, key, used_at)
select wanted.type, wanted.key, clock.now
  from clock, unnest(:types::text[], :keys::text[]) wanted (type, key)
 order by wanted.type, wanted.key
    on conflict (type, key) do update set used_at = excluded.used_at
returning 1
