-- listen: somebody wants events recorded for a while.
insert into holdfast_listener (name, until) values (:name, :until)
    on conflict (name) do update set until = excluded.until
