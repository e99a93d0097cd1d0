-- forget_marks: delete all marks but the newest.
delete from holdfast_mark where seq <= (select max(seq) from holdfast_mark) - :kept
