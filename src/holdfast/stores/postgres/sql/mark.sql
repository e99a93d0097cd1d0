-- mark: write a mark that shows whether this transaction committed.
insert into holdfast.mark (id) values (:id::text)
