-- stats_pending: pending jobs per type, those due now, and since when the first of them is.
select type, count(*), sum(scheduled_at <= :now), min(case when scheduled_at <= :now then scheduled_at end)
  from holdfast_job where status = 'pending' group by type
