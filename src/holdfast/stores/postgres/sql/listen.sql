-- listen: somebody wants events recorded for a while; those whose time is over do no more, and old events go.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), heard as (
    delete from holdfast.listener using clock where listener.until <= clock.now and listener.name <> :listener::text
), old as (
    delete from holdfast.event where event.seq <= (select max(event.seq) from holdfast.event) - 10000
), listening as (
    insert into holdfast.listener (name, until)
    select :listener::text, clock.now + :lease::bigint from clock
        on conflict (name) do update set until = excluded.until
)
select coalesce(max(event.seq), 0) from holdfast.event
