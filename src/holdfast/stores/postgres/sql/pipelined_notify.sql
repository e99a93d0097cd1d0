-- notify: send a notification.
-- It has a separate transaction that does not wait for the disk: notifications serialise commits.
select pg_notify(:channel::text, :payload::text)

-- notify_completed: send the chains that these attempts completed. It has a separate transaction, as notify has.
select pg_notify(:channel::text, json_build_object('f', json_agg(job.chain_id), 's', :sender::text)::text)
  from holdfast.job
 where job.id = any(:ids::text[]) and job.token = any(:tokens::text[]) and job.status = 'completed'
having count(*) > 0
