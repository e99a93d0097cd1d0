-- pause: claim no jobs of these types.
insert into holdfast.paused (type)
select type from unnest(:types::text[]) type order by type
    on conflict (type) do nothing
returning paused.type

-- resume: claim jobs of these types again.
delete from holdfast.paused where paused.type = any(:types::text[]) returning paused.type
