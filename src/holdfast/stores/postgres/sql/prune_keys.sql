-- prune_keys: keys that nobody used for a day go, unless a chain has them; then they are looked at again in a day.
-- A day: a transaction with a snapshot older than that is taken not to start chains any more.
with idle as materialized (
    select key.type, key.key,
           exists (select 1 from holdfast.job where job.key = key.key and job.type = key.type) as needed
      from holdfast.key
     where key.used_at < :now::bigint - 86400000000
     order by key.used_at
     limit 500
       for update of key skip locked
), looked_at as (
    update holdfast.key set used_at = :now::bigint
      from idle where idle.needed and key.type = idle.type and key.key = idle.key
)
delete from holdfast.key using idle where not idle.needed and key.type = idle.type and key.key = idle.key
