-- forget_events: old events go.
delete from holdfast_event where seq <= (select max(seq) from holdfast_event) - :kept
