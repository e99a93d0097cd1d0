-- unlisten: somebody wants no more events.
delete from holdfast.listener where listener.name = :listener::text
