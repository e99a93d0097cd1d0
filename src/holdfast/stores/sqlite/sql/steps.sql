-- steps: store and read steps and messages.

-- step_save: store a step. A final row does not change, and a checkpoint that arrives late replaces no newer one.
-- Positional parameters are faster than names: one write may store hundreds of steps.
insert into holdfast_step (job_id, name, each, kind, number, attempt, epoch, started_at, finished_at, result, error)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (job_id, name, each) do update
   set kind = excluded.kind, number = excluded.number, attempt = excluded.attempt, epoch = excluded.epoch,
       started_at = excluded.started_at, finished_at = excluded.finished_at, wake_at = null,
       result = excluded.result, error = excluded.error
 where holdfast_step.number <= excluded.number
   and (holdfast_step.finished_at is null or (holdfast_step.error is not null and holdfast_step.kind <> 'receive'))

-- step_wait: store an open sleep or receive, unless the job has it.
insert or ignore into holdfast_step (job_id, name, each, kind, number, attempt, epoch, started_at, wake_at)
values (:job_id, :name, :each, :kind, :number, :attempt, :epoch, :started_at, :wake_at)

-- get_steps: the steps of these jobs, in order.
select job_id, name, each, kind, number, attempt, epoch, result, error, started_at, finished_at, wake_at
  from holdfast_step
 where job_id in (select value from json_each(:ids))
 order by job_id, number

-- steps_delete: delete the steps of a job.
delete from holdfast_step where job_id = :id

-- step_delete: delete one step of a job.
delete from holdfast_step where job_id = :job_id and name = :name and each = :each

-- sleeps_open: whether a job has an open sleep.
select exists (select 1 from holdfast_step where job_id = :job_id and kind = 'sleep' and finished_at is null)

-- sleeps_end: end the open sleeps of a job.
update holdfast_step set finished_at = :now where job_id = :job_id and kind = 'sleep' and finished_at is null

-- get_message: the value of a message, and the job that waits for it.
select value, job_id, token from holdfast_message where chain_id = :chain_id and name = :name

-- message_arrived: a row if the chain of this job has a message of this name.
select 1
  from holdfast_job job join holdfast_message message on message.chain_id = job.chain_id
 where job.id = :job_id and message.name = :name and message.value is not null

-- message_save: store the value of a message, which has none yet.
insert into holdfast_message (chain_id, name, value, sent_at) values (:chain_id, :name, :value, :now)
    on conflict (chain_id, name) do update set value = excluded.value, sent_at = excluded.sent_at

-- message_wait: let a job wait for a message that has no value yet.
insert into holdfast_message (chain_id, name, job_id, token) values (:chain_id, :name, :job_id, :token)
    on conflict (chain_id, name) do update set job_id = excluded.job_id, token = excluded.token

-- messages_awaited: the messages that a suspended job waits for.
select message.name
  from holdfast_job job
  join holdfast_message message on message.chain_id = job.chain_id
 where job.seq = :seq and job.status = 'pending'
   and message.value is null and message.job_id = job.id and message.token = job.token
 order by message.name

-- message_waiter: the job that was suspended by the claim with this token.
select seq, id, chain_id, type, attempt, scheduled_at
  from holdfast_job
 where id = :job_id and status = 'pending' and token = :token

-- message_delete: delete a message.
delete from holdfast_message where chain_id = :chain_id and name = :name

-- messages_delete: delete the messages of a chain.
delete from holdfast_message where chain_id = :chain_id
