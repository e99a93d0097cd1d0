-- last_event: the newest event's seq.
select coalesce(max(seq), 0) from holdfast_event
