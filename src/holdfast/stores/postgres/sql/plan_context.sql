-- moment: the time, and whether there are listeners.
select clock.now, exists (select 1 from holdfast.listener where listener.until > clock.now)
  from (select holdfast.clock(:now::bigint) as now offset 0) clock
