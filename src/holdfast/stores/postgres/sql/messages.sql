-- messages: send messages to chains, and read them.

-- send_lock: lock the last job of a chain until the transaction ends. key share: renewals continue, and the job is neither
-- suspended nor finished before the message is committed.
select job.seq from holdfast.job where job.seq = :seq::bigint for key share

-- send: store a message, unless its name has a value. Returns the job that was suspended to wait for it, and the token of
-- its claim; no row if there is a value.
insert into holdfast.message (chain_id, name, value, sent_at)
values (:chain_id::text, :name::text, :value::bytea, :now::bigint)
    on conflict (chain_id, name) do update
   set value = excluded.value, sent_at = excluded.sent_at
 where message.value is null
returning message.job_id, message.token

-- send_wake: make a job due if it is still suspended since the same attempt. This is a separate statement: `send` may have
-- waited for the suspension, and only a later statement sees the suspended job.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
update holdfast.job set scheduled_at = least(job.scheduled_at, :now::bigint)
 where job.id = :id::text and job.token = :token::text and job.status || '' = 'pending'
returning job.id, job.chain_id, job.type, job.attempt

-- receive_timeout: lock the message that this claimed job waits for, until its timeout is committed. The last column says
-- whether the message has no value. A message that is sent meanwhile waits for the commit, so it arrives after the timeout.
-- The job is not locked here: a transaction that sends the message may wait for the lock of the job.
with claimed as materialized (
    select job.id, job.status, job.token, job.chain_id from holdfast.job where job.id = :id::text
), locked as (
    insert into holdfast.message (chain_id, name)
    select claimed.chain_id, :name::text from claimed where claimed.status = 'running' and claimed.token = :token::text
        on conflict (chain_id, name) do update
       set name = excluded.name
     where message.value is null
    returning message.name
)
select claimed.status, claimed.token, (select count(*) from locked) > 0 from claimed

-- get_messages: the values of these messages.
select message.chain_id, message.name, message.value
  from unnest(:chain_ids::text[], :names::text[]) wanted (chain_id, name)
  join holdfast.message on message.chain_id = wanted.chain_id and message.name = wanted.name
 where message.value is not null

-- awaited_messages: the messages that these jobs wait for, if they are suspended.
-- `status || ''` keeps the planner from using a partial index: see 1_jobs.sql.
select job.id, message.name
  from holdfast.job
  join holdfast.message on message.chain_id = job.chain_id and message.job_id = job.id and message.token = job.token
 where job.id = any(:ids::text[]) and job.status || '' = 'pending' and message.value is null
 order by message.name

-- remove_messages: delete messages of a chain.
delete from holdfast.message where message.chain_id = :chain_id::text and message.name = any(:names::text[])
