-- next_due_leased: when the first lease of these types runs out.
select min((select min(job.leased_until) from holdfast_job job
             where job.status = 'running' and job.type = type.value))
  from json_each(:types) type
