-- start: start chains and add continuations.

-- find_ids: the jobs with these ids that exist, and their chains.
select id, chain_id from holdfast_job where id in (select value from json_each(:ids))

-- find_key: the newest chain in a dedup scope.
select first.id
  from holdfast_job first
  join holdfast_job last on last.seq = coalesce(
           (select other.seq from holdfast_job other
             where other.chain_id = first.id and other.chain_index > 0
             order by other.chain_index desc limit 1),
           first.seq)
 where first.key = :key and first.type = :type and first.chain_index = 0
   and first.created_at > :since
   and first.id not in (select value from json_each(:exclude))
   and (:scope = 'any'
        or last.status in ('blocked', 'pending', 'running')
           and (:scope <> 'waiting' or last.seq = first.seq and last.status <> 'running'
                and not exists (select 1 from holdfast_step step where step.job_id = first.id))
        or :scope = 'successful' and last.status = 'completed'
           and case when first.dedup_for is null then last.expires_at is null or last.expires_at > :now
                    else last.finished_at + first.dedup_for > :now end)
 order by first.seq desc
 limit 1

-- start_one: the newest seq, the chain of this job if it exists, and whether a listener is registered.
-- One statement instead of three, because most commits are a single start. Seqs of deleted jobs count.
select max(coalesce((select max(seq) from holdfast_job), 0), coalesce((select seq from holdfast_deleted_seq), 0)),
       (select chain_id from holdfast_job where id = :id),
       exists (select 1 from holdfast_listener where until > :now)

-- last_seq: the newest seq, including those of deleted jobs.
select max(coalesce((select max(seq) from holdfast_job), 0), coalesce((select seq from holdfast_deleted_seq), 0))

-- insert_job: create a job.
-- Positional parameters are faster than names: one start may insert thousands of rows.
insert into holdfast_job (seq, id, type, chain_id, chain_index, status, priority, key, created_at, scheduled_at, details,
                          blockers, open_blockers, on_blocker_failure, track, {options}, input)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {options: ?}, ?)

-- insert_blocker: make a job wait for a chain.
insert into holdfast_blocker (job_id, position, chain_id) values (?, ?, ?)

-- count_up: increase the number of jobs of a type, in the row of this minute.
insert into holdfast_tally (type, minute, jobs) values (:type, :minute, :jobs)
    on conflict (type, minute) do update set jobs = jobs + excluded.jobs
