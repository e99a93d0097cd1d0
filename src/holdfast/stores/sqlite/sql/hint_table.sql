-- hint_table: exchange hints between processes.

-- insert_hint: store the hints of a transaction for other processes.
insert into holdfast_hint (source, hints) values (:source, :hints)

-- delete_hints: delete all hints but the newest.
delete from holdfast_hint where seq <= (select max(seq) from holdfast_hint) - :kept

-- last_hint: the seq of the newest hint.
select coalesce(max(seq), 0) from holdfast_hint

-- read_hints: hints after a seq, oldest first.
select seq, source, hints from holdfast_hint where seq > :seen order by seq
