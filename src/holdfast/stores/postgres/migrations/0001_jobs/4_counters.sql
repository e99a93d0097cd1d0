-- Counters: what happened to jobs, per type and minute. A transaction appends changes, so no transaction waits for the
-- row of another. Pruning adds them up in the tables below.
create table holdfast.counter_change (
    seq bigint generated always as identity primary key,
    wait_total bigint,
    run_total bigint,
    at bigint,
    number bigint not null,
    minute integer not null,
    type text collate "C" not null,
    kind text collate "C" not null,
    -- One letter per attempt: the bucket of its duration.
    waits text collate "C",
    runs text collate "C",
    -- Of failures: the group of the error, what describes it, and one of the jobs.
    fingerprint text collate "C",
    summary text,
    example text collate "C"
);

-- The minute 0 has the totals since the tables were created. A histogram is a JSON array, one number per bucket.
create table holdfast.counter (
    minute integer not null,
    type text collate "C" not null,
    started bigint not null,
    completed bigint not null,
    failed bigint not null,
    retried bigint not null,
    reaped bigint not null,
    rescheduled bigint not null,
    cancelled bigint not null,
    waits text not null,
    wait_total bigint not null,
    runs text not null,
    run_total bigint not null,
    primary key (minute, type)
);

create table holdfast.error_group (
    fingerprint text collate "C" primary key,
    type text collate "C" not null,
    summary text not null,
    first_at bigint not null,
    last_at bigint not null,
    example text collate "C" not null
);

-- The minute 0 has the totals of the group.
create table holdfast.error_count (
    minute integer not null,
    fingerprint text collate "C" not null,
    failed bigint not null,
    retried bigint not null,
    primary key (minute, fingerprint)
);

-- One row: the transaction that locks it adds up the counters.
create table holdfast.counter_lock (present boolean primary key);
insert into holdfast.counter_lock (present) values (true);

-- The bucket of a duration, as in `holdfast.core.counters`.
create function holdfast.bucket(micros bigint) returns text language sql immutable parallel safe
    as $$ select chr(97 + width_bucket(micros - 1, '{5000,10000,25000,50000,100000,250000,500000,1000000,2500000,5000000,10000000,30000000,60000000,300000000,1800000000,7200000000}'::bigint[])) $$;
