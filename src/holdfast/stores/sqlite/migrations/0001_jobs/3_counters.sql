-- Counters: what happened to jobs, per type and minute. A transaction appends changes; pruning adds them up in the
-- tables below. One insert is cheaper than changing a sum, and the same changes are used on PostgreSQL.
create table holdfast_counter_change (
    seq integer primary key,
    type text not null,
    minute integer not null,
    kind text not null,
    number integer not null,
    -- One letter per attempt: the bucket of its duration.
    waits text,
    runs text,
    wait_total integer not null,
    run_total integer not null,
    -- Of failures: the group of the error, what describes it, and one of the jobs.
    fingerprint text,
    summary text,
    example text,
    at integer not null
);

-- The minute 0 has the totals since the tables were created. A histogram is a JSON array, one number per bucket.
create table holdfast_counter (
    minute integer not null,
    type text not null,
    started integer not null,
    completed integer not null,
    failed integer not null,
    retried integer not null,
    reaped integer not null,
    rescheduled integer not null,
    cancelled integer not null,
    waits text not null,
    wait_total integer not null,
    runs text not null,
    run_total integer not null,
    primary key (minute, type)
) without rowid;

create table holdfast_error_group (
    fingerprint text primary key,
    type text not null,
    summary text not null,
    first_at integer not null,
    last_at integer not null,
    example text not null
) without rowid;

-- The minute 0 has the totals of the group.
create table holdfast_error_count (
    minute integer not null,
    fingerprint text not null,
    failed integer not null,
    retried integer not null,
    primary key (minute, fingerprint)
) without rowid;
