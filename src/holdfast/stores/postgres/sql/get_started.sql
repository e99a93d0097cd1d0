-- get_started: the ids of the chains that jobs started, oldest first.
-- The index contains the text up to a quotation mark. The id of a job may contain one, so the beginning is compared too.
select job.id
  from unnest(:beginnings::text[]) starter (beginning)
  join holdfast.job
    on starts_with(job.details, '{"origin":"')
   and split_part(job.details, '"', 4) = split_part(starter.beginning, '"', 4)
   and starts_with(job.details, starter.beginning)
 order by job.seq
 limit :limit::bigint
