-- examine_horizon: what keeps vacuum from removing dead rows, the oldest first.
-- A session that wrote holds it by its transaction's number, and between two statements by nothing else.
-- Sessions of other roles show their snapshot only to members of pg_read_all_stats.
select holder.kind, holder.name, holder.transactions, holder.detail
  from (
    select 'session' as kind, activity.pid::text as name, greatest(age(activity.backend_xid), age(activity.backend_xmin)) as transactions,
           coalesce(activity.usename, '?') || ', ' || coalesce(nullif(activity.application_name, ''), 'unnamed') || ', '
           || coalesce(activity.state, '?') || ' for '
           || coalesce(round(extract(epoch from clock_timestamp() - activity.xact_start))::text, '?') || ' s' as detail,
           extract(epoch from clock_timestamp() - activity.xact_start) as seconds
      from pg_stat_activity activity
     where coalesce(activity.backend_xid, activity.backend_xmin) is not null and activity.pid <> pg_backend_pid()
    union all
    select 'replication slot', slot.slot_name::text, greatest(age(slot.xmin), age(slot.catalog_xmin)),
           case when slot.active then 'active' else 'inactive' end, null
      from pg_replication_slots slot
     where slot.xmin is not null
    union all
    select 'prepared transaction', prepared.gid, age(prepared.transaction), prepared.owner::text,
           extract(epoch from clock_timestamp() - prepared.prepared)
      from pg_prepared_xacts prepared) holder
 where holder.transactions > 100000 or holder.seconds > 60
 order by holder.transactions desc
 limit 5
