-- claimed_before: what a claim whose answer was lost had taken.
select record.* from holdfast.record
 where record.status = 'running' and record.type = any(:types::text[]) and record.token = :token::text
