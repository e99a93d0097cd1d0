-- pause: hand out no jobs of a type.
insert into holdfast_paused (type) values (:type) on conflict (type) do nothing

-- resume: hand out jobs of a type again.
delete from holdfast_paused where type = :type
