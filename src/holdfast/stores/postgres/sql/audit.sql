-- audit: what operators changed.

-- insert_audit: write an entry for each of these targets.
insert into holdfast.audit (at, "user", action, target, chain_id, reason)
select :now::bigint, :user::text, :action::text, changed.target, changed.chain_id, :reason::text
  from unnest(:targets::text[], :chain_ids::text[]) with ordinality changed (target, chain_id, position)
 order by changed.position

-- get_audit: the newest entries.
select audit.at, audit."user", audit.action, audit.target, audit.chain_id, audit.reason
  from holdfast.audit
 where audit.at >= greatest(:since::bigint, holdfast.clock(:now::bigint) - :kept::bigint)
 order by audit.seq desc
 limit :limit::bigint

-- get_audit_about: the newest entries about some chains, jobs or other things.
select audit.at, audit."user", audit.action, audit.target, audit.chain_id, audit.reason
  from holdfast.audit
 where (audit.target = any(:about::text[]) or audit.chain_id = any(:about::text[]))
   and audit.at >= greatest(:since::bigint, holdfast.clock(:now::bigint) - :kept::bigint)
 order by audit.seq desc
 limit :limit::bigint

-- prune_audit: delete old entries.
with old as materialized (
    select audit.seq
      from holdfast.audit
     where audit.at < :now::bigint - :kept::bigint
     order by audit.at
     limit 10000
       for update skip locked
)
delete from holdfast.audit using old where audit.seq = old.seq
