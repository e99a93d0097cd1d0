-- The steps of handlers. A row without finished_at is open: a sleep or receive that suspended the job, or a cursor.
create table holdfast.step (
    started_at bigint not null,
    finished_at bigint,
    -- When a sleep ends; the deadline of a receive.
    wake_at bigint,
    attempt bigint not null,
    number integer not null,
    epoch integer not null,
    job_id text collate "C" not null,
    name text collate "C" not null,
    each text collate "C" not null,
    kind text not null,
    -- JSON. Of a cursor: its position.
    result bytea,
    error bytea,
    primary key (job_id, name, each)
) with (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

-- Messages to chains. A row without a value is a wait: the job was suspended by the claim with this token. The wait counts
-- while the job is pending with the same token.
create table holdfast.message (
    sent_at bigint,
    chain_id text collate "C" not null,
    name text collate "C" not null,
    job_id text collate "C",
    token text collate "C",
    value bytea,
    primary key (chain_id, name)
);
