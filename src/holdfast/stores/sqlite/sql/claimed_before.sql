-- claimed_before: what a claim that was not answered had taken, best first.
select record.* from holdfast_record record
 where record.status = 'running' and record.type in (select value from json_each(:types)) and record.token = :token
 order by record.priority desc, record.scheduled_at, record.seq
