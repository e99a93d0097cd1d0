-- listen: somebody wants events recorded for a while; those whose time is over do no more, and old events go.
-- Its own row first, and of the others those that nobody is writing: two who clear up for each other do not wait.
with clock as materialized (
    select holdfast.clock(:now::bigint) as now
), listening as (
    insert into holdfast.listener (name, until)
    select :listener::text, clock.now + :lease::bigint from clock
        on conflict (name) do update set until = excluded.until
    returning name
), silent as materialized (
    select listener.name
      from holdfast.listener, clock
     where listener.until <= clock.now and listener.name <> all (select listening.name from listening)
       for update of listener skip locked
), heard as (
    delete from holdfast.listener where listener.name = any(array(select silent.name from silent))
), past as materialized (
    select event.seq
      from holdfast.event
     where event.seq <= (select max(event.seq) from holdfast.event) - 10000
       for update skip locked
), old as (
    delete from holdfast.event where event.seq = any(array(select past.seq from past))
)
select coalesce(max(event.seq), 0) from holdfast.event
