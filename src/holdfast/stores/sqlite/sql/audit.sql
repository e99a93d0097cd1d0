-- audit: what operators changed.

-- insert_audit: write an entry.
insert into holdfast_audit (at, user, action, target, chain_id, reason)
values (:now, :user, :action, :target, :chain_id, :reason)

-- get_audit: the newest entries.
select at, user, action, target, chain_id, reason from holdfast_audit where at >= :since order by seq desc limit :limit

-- get_audit_about: the newest entries about some chains, jobs or other things.
select at, user, action, target, chain_id, reason
  from holdfast_audit
 where seq in (select seq from holdfast_audit where target in (select value from json_each(:about))
                union
               select seq from holdfast_audit where chain_id in (select value from json_each(:about)))
   and at >= :since
 order by seq desc
 limit :limit

-- prune_audit: delete old entries.
delete from holdfast_audit where seq in (select seq from holdfast_audit where at < :until order by at limit 10000)
