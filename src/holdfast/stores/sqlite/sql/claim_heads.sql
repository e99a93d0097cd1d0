-- claim_heads: of each unpaused type, the best of its pending jobs, due or not.
select type.value, head.priority, head.scheduled_at
  from json_each(:types) type
  join holdfast_job head on head.seq = (
           select job.seq from holdfast_job job
            where job.status = 'pending' and job.type = type.value
            order by job.priority desc, job.scheduled_at, job.seq
            limit 1)
 where type.value not in (select paused.type from holdfast_paused paused)
