-- stats_paused: the types that are paused.
select type from holdfast_paused
