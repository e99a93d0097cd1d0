-- renew: extend the lease of a claim.
update holdfast_job set leased_until = :leased_until, renewed_at = :now
 where id = :id and status = 'running' and token = :token
