-- hint_table: exchange hints between processes.

-- insert_hint: tell others what this commit may have changed for them.
insert into holdfast_hint (source, hints) values (:source, :hints)

-- forget_hints: old hints go.
delete from holdfast_hint where seq <= (select max(seq) from holdfast_hint) - :kept

-- last_hint: the newest hint's seq.
select coalesce(max(seq), 0) from holdfast_hint

-- read_hints: hints after a seq, oldest first.
select seq, source, hints from holdfast_hint where seq > :seen order by seq
