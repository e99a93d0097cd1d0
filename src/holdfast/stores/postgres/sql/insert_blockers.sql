-- insert_blockers: what new jobs wait for.
insert into holdfast.blocker (job_id, position, chain_id)
select * from unnest(:job_ids::text[], :positions::int[], :chain_ids::text[])
