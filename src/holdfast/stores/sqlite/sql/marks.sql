-- marks: show whether a transaction committed.

-- mark: write a mark that shows whether this transaction committed.
insert into holdfast_mark (id) values (:id)

-- delete_marks: delete all marks but the newest.
delete from holdfast_mark where seq <= (select max(seq) from holdfast_mark) - :kept

-- find_marks: the committed marks among these ids.
select id from holdfast_mark where id in (select value from json_each(:ids))
