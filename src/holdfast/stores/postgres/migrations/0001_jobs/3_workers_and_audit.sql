-- Live workers, each with the time of its last report. Few rows, updated often: a report changes no indexed column.
create table holdfast.worker (
    id text collate "C" primary key,
    host text not null,
    pid bigint not null,
    types text[] not null,
    concurrency bigint not null,
    registry text not null,
    details text not null,
    started_at bigint not null,
    seen_at bigint not null,
    draining boolean not null
) with (fillfactor = 50);

-- What operators changed, each entry written in the transaction of the change.
create table holdfast.audit (
    seq bigint generated always as identity primary key,
    at bigint not null,
    "user" text not null,
    action text not null,
    target text collate "C" not null,
    chain_id text collate "C",
    reason text
);
create index audit_at on holdfast.audit (at);
create index audit_target on holdfast.audit (target);
create index audit_chain on holdfast.audit (chain_id) where chain_id is not null;
