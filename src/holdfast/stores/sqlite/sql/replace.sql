-- may_replace: the first job of the chain, if it has this key and has not begun.
select * from holdfast_record
 where id = :id and chain_index = 0 and type = :type and key = :key and status in ('pending', 'blocked')

-- replace: give a chain that has not begun the input and the options of another start.
-- min and max with a null are null: without a limit, the due time is the one that the start gives.
update holdfast_job
   set input = :input, status = :status, priority = :priority, {options: * = :*}, details = :details,
       blockers = :blockers, open_blockers = :open_blockers, on_blocker_failure = :on_blocker_failure, track = :track,
       track_seq = case when :track is not null then 0 end, lane = null,
       attempt = 0, error = null, progress = null, progress_note = null, started_at = null, mismatches = null,
       mismatched_at = null, counted = null,
       debounced_at = case when attempt > 0 then :now else debounced_at end,
       scheduled_at = max(:now, coalesce(min(:due, :within + case when attempt > 0 then :now
                                                                  else coalesce(debounced_at, created_at) end), :due))
 where id = :id and status in ('pending', 'blocked')

-- forget_blockers: let a job wait for no chain.
delete from holdfast_blocker where job_id = :job_id
