-- reap_expired: running jobs of a type whose lease ran out, oldest first.
select * from holdfast_record
 where status = 'running' and type = :type and leased_until <= :now
 order by leased_until, seq
 limit :limit
