-- mark: write a mark that shows whether this transaction committed.
insert into holdfast_mark (id) values (:id)
