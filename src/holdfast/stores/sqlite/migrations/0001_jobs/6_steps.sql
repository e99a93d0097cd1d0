-- Steps, sleeps, receives and cursors of jobs. A row without finished_at is open.
create table holdfast_step (
    job_id text not null,
    name text not null,
    -- JSON of the value of each=, empty without one.
    each text not null,
    kind text not null,
    number integer not null,
    attempt integer not null,
    epoch integer not null,
    started_at integer not null,
    finished_at integer,
    -- When a sleep ends; the deadline of a receive.
    wake_at integer,
    result blob,
    error blob,
    primary key (job_id, name, each)
) without rowid;

-- Messages of chains. Without a value: the job that waits for the message, and the token of the claim that ended.
create table holdfast_message (
    chain_id text not null,
    name text not null,
    sent_at integer,
    job_id text,
    token text,
    value blob,
    primary key (chain_id, name)
) without rowid;
