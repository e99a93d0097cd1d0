-- pause: hand out no jobs of these types.
insert into holdfast.paused (type) select unnest(:types::text[]) on conflict (type) do nothing
