-- forget_hints: old hints go.
delete from holdfast_hint where seq <= (select max(seq) from holdfast_hint) - :kept
