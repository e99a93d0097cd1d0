-- get_started: the ids of the chains that jobs started, oldest first.
-- The index contains the text up to a quotation mark. The id of a job may contain one, so the beginning is compared too.
select job.id
  from json_each(:beginnings) starter
  join holdfast_job job
    on substr(job.details, 1, 11) = '{"origin":"'
   and substr(job.details, 12, instr(substr(job.details, 12), '"') - 1)
     = substr(starter.value, 12, instr(substr(starter.value, 12), '"') - 1)
   and substr(job.details, 1, length(starter.value)) = starter.value
 order by job.seq
 limit :limit
