-- start: start chains and add continuations.

-- find_ids: which of these jobs exist, and in which chains.
select id, chain_id from holdfast_job where id in (select value from json_each(:ids))

-- find_key: the newest chain in a dedup scope.
select first.id
  from holdfast_job first
  join holdfast_job last on last.seq = coalesce(
           (select step.seq from holdfast_job step
             where step.chain_id = first.id and step.chain_index > 0
             order by step.chain_index desc limit 1),
           first.seq)
 where first.key = :key and first.type = :type and first.chain_index = 0
   and first.created_at > :since
   and first.id not in (select value from json_each(:exclude))
   and (:scope = 'any'
        or last.status in ('blocked', 'pending', 'running')
        or :scope = 'successful' and last.status = 'completed'
           and (last.expires_at is null or last.expires_at > :now))
 order by first.seq desc
 limit 1

-- place: the newest job's seq, the chain in which this job exists already, and whether anybody wants events recorded.
-- One question for a start, which is what most commits are. The seq is that of deleted jobs, too.
select coalesce((select seq from sqlite_sequence where name = 'holdfast_job'), 0),
       (select chain_id from holdfast_job where id = :id),
       exists (select 1 from holdfast_listener where until > :now)

-- last_seq: the newest job's seq, deleted ones included.
select coalesce((select seq from sqlite_sequence where name = 'holdfast_job'), 0)

-- insert_job: a new job.
-- Positions, not names: this runs for thousands of rows at a time.
insert into holdfast_job (seq, id, type, chain_id, chain_index, status, priority, max_attempts, key, created_at,
                          scheduled_at, timeout, keep, trace, blockers, open_blockers, on_blocker_failure, input)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- insert_blocker: what a job waits for.
insert into holdfast_blocker (job_id, position, chain_id) values (?, ?, ?)

-- count_up: there are more jobs of a type.
insert into holdfast_tally (type, jobs) values (:type, :jobs)
    on conflict (type) do update set jobs = jobs + excluded.jobs
