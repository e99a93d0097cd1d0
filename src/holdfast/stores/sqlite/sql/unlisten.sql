-- unlisten: somebody wants no more events.
delete from holdfast_listener where name = :name
