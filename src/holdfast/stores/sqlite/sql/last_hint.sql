-- last_hint: the newest hint's seq.
select coalesce(max(seq), 0) from holdfast_hint
