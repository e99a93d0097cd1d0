-- insert_hint: tell others what this commit may have changed for them.
insert into holdfast_hint (source, hints) values (:source, :hints)
