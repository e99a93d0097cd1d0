-- stats_total: jobs per type.
select type, jobs from holdfast_tally where jobs > 0
