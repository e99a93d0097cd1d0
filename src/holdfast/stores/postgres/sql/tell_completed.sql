-- tell_completed: wake who waits for the chains that these attempts completed. As tell.
select pg_notify(:channel::text, json_build_object('f', json_agg(job.chain_id), 's', :sender::text)::text)
  from holdfast.job
 where job.id = any(:ids::text[]) and job.token = any(:tokens::text[]) and job.status = 'completed'
having count(*) > 0
