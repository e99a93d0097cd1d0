-- prune_marks: delete the marks of processes that ended before they looked for them.
with old as materialized (
    select mark.id
      from holdfast.mark
     where mark.written_at < holdfast.clock(null) - 86400000000
     order by mark.written_at
     limit 10000
       for update skip locked
)
delete from holdfast.mark using old where mark.id = old.id
