-- pause: exclude a type from claims.
insert into holdfast_paused (type) values (:type) on conflict (type) do nothing

-- resume: include a type in claims again.
delete from holdfast_paused where type = :type
