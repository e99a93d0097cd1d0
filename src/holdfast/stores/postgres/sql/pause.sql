-- pause: hand out no jobs of these types.
insert into holdfast.paused (type)
select type from unnest(:types::text[]) type order by type
    on conflict (type) do nothing
