-- A schedule is bytes for the store, except for what its statements need. ticks_at is null if it is not ticked.
create table holdfast.schedule (
    name text collate "C" primary key,
    version text collate "C" not null,
    type text collate "C" not null,
    ticks_at bigint,
    body bytea not null
) with (fillfactor = 70);
create index schedule_ticks on holdfast.schedule (type, ticks_at) where ticks_at is not null;
