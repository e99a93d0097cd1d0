-- read_hints: hints after a seq, oldest first.
select seq, source, hints from holdfast_hint where seq > :seen order by seq
