-- A schedule is bytes for the store, except for what its statements need. ticks_at is null if it is not ticked.
create table holdfast_schedule (
    name text primary key,
    version text not null,
    type text not null,
    ticks_at integer,
    body blob not null
) without rowid;
create index holdfast_schedule_ticks on holdfast_schedule (type, ticks_at) where ticks_at is not null;
