-- What operators changed, each entry written in the transaction of the change.
create table holdfast_audit (
    seq integer primary key,
    at integer not null,
    user text not null,
    action text not null,
    target text not null,
    chain_id text,
    reason text
);
create index holdfast_audit_at on holdfast_audit (at);
create index holdfast_audit_target on holdfast_audit (target);
create index holdfast_audit_chain on holdfast_audit (chain_id) where chain_id is not null;
