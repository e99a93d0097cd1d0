-- pause: hand out no jobs of a type.
insert into holdfast_paused (type) values (:type) on conflict (type) do nothing
