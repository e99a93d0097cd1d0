"""Copies of all jobs in a store, so that a few thousand become millions.

A copy has another id, and all its times lie a number of days earlier. Indexes and counts of the store are kept correct;
counters of minutes are not changed: they do not depend on the number of jobs.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib import import_module
from typing import Any

import psycopg

from benchmarks.contender import Place

DAY = 86_400_000_000
_TIMES = ("created_at", "scheduled_at", "started_at", "finished_at", "renewed_at")
_STEP = 20
"""Copies of each job that one transaction writes."""


def copy_jobs(place: Place, copies: int) -> None:
    """This many copies of each job. The newest copies have the highest numbers."""
    match place.store:
        case "postgres":
            _copy_postgres(place.url, copies)
        case "sqlite":
            _copy_sqlite(place.url, copies)
        case _:
            _copy_redis(place.url, copies)


def vacuum(place: Place) -> None:
    """Do what autovacuum and the checkpointer do within minutes. The other stores have nothing like them."""
    if place.store == "postgres":
        with closing(psycopg.connect(place.url, autocommit=True)) as connection:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")


def _copy_postgres(url: str, copies: int) -> None:
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        rows = connection.execute(
            "select column_name from information_schema.columns"
            " where table_schema = 'holdfast' and table_name = 'job' and is_identity = 'NO'"
        ).fetchall()
        names = [str(name) for (name,) in rows]
        last = connection.execute("select max(seq) from holdfast.job").fetchone()
        assert last is not None
        connection.execute("insert into holdfast.tally (type, jobs)"
                           " select type, count(*) * %s from holdfast.job group by type", (copies,))  # fmt: skip
        # Building the indexes at the end takes a fraction of the time.
        indexes = connection.execute(
            "select indexname, indexdef from pg_indexes"
            " where schemaname = 'holdfast' and tablename = 'job' and indexname <> 'job_pkey'"
        ).fetchall()
        for name, _ in indexes:
            connection.execute(f"drop index holdfast.{name}".encode())
        connection.execute("set synchronous_commit = off")
        connection.execute("set maintenance_work_mem = '512MB'")
        for first in range(1, copies + 1, _STEP):
            series = f"generate_series({first}, {min(first + _STEP - 1, copies)}) as copy (number)"
            connection.execute(
                f"insert into holdfast.job ({', '.join(names)}) select {_copied(names, copies)}"  # noqa: S608
                f" from holdfast.job, {series} where seq <= {last[0]} order by copy.number, seq".encode()
            )
        for _, definition in indexes:
            connection.execute(str(definition).encode())


def _copy_sqlite(url: str, copies: int) -> None:
    with closing(sqlite3.connect(url)) as connection:
        columns = connection.execute("select name from pragma_table_info('holdfast_job') where pk = 0")
        names = [str(name) for (name,) in columns]
        connection.execute(
            "insert into holdfast_tally (type, minute, jobs)"
            " select type, 0, count(*) * ? from holdfast_job where true group by type"
            " on conflict (type, minute) do update set jobs = jobs + excluded.jobs",
            (copies,),
        )
        (last,) = connection.execute("select max(seq) from holdfast_job").fetchone()
        for number in range(1, copies + 1):
            connection.execute(
                f"insert into holdfast_job ({', '.join(names)}) select {_copied(names, copies)}"  # noqa: S608
                f" from holdfast_job, (select {number} as number) copy where seq <= {last} order by seq"
            )
        connection.commit()


def _copied(names: list[str], copies: int) -> str:
    return ", ".join(_expression(name, copies) for name in names)


def _expression(name: str, copies: int) -> str:
    if name in ("id", "chain_id"):
        return f"{name} || '.' || copy.number"
    return f"{name} - ({copies + 1} - copy.number) * {DAY}" if name in _TIMES else name


_COPY = """
local prefix, copies = KEYS[1] .. ':', tonumber(ARGV[1])
local shift = (copies + 1 - tonumber(ARGV[2])) * tonumber(ARGV[3])
local suffix, seq = '.' .. ARGV[2], tonumber(redis.call('HGET', KEYS[1], 'seq'))
local first_seq = {}
for n = 4, #ARGV do
  local id = ARGV[n]
  local row, fields = redis.call('HGETALL', prefix .. 'j:' .. id), {}
  for at = 1, #row, 2 do fields[row[at]] = row[at + 1] end
  -- The order of `pack` in scripts/shared/job.lua.
  local state = { cmsgpack.unpack(fields.s) }
  local count = select('#', cmsgpack.unpack(fields.s))
  seq = seq + 1
  local status, type, chain, key = state[4], state[6], state[7], state[12]
  state[1] = seq
  for _, at in ipairs({ 2, 3, 16, 19, 20 }) do state[at] = state[at] and state[at] - shift end
  state[7] = chain and chain .. suffix
  fields.s = cmsgpack.pack(unpack(state, 1, count))
  local copy, flat = id .. suffix, {}
  for field, value in pairs(fields) do flat[#flat + 1] = field; flat[#flat + 1] = value end
  redis.call('HSET', prefix .. 'j:' .. copy, unpack(flat))
  redis.call('ZADD', prefix .. 'all', seq, copy)
  redis.call('HINCRBY', prefix .. 'counts', status .. type, 1)
  local of_chain = chain and chain .. suffix or copy
  first_seq[of_chain] = first_seq[of_chain] or seq
  if chain then redis.call('RPUSH', prefix .. 'c:' .. of_chain, copy) end
  if key and not chain then
    for _, set in ipairs({ 'k:', 'w:' }) do
      redis.call('ZADD', prefix .. set .. #type .. ':' .. type .. key, seq, copy)
    end
  end
  if status == 'f' or status == 'x' then
    redis.call('ZADD', prefix .. 'lj:' .. status, seq, copy)
    redis.call('ZADD', prefix .. 'lc:' .. status, first_seq[of_chain], of_chain)
  end
  if status == 'f' and fields.f then
    redis.call('ZADD', prefix .. 'gj:' .. fields.f, seq, copy)
    redis.call('ZADD', prefix .. 'gc:' .. fields.f, first_seq[of_chain], of_chain)
  end
end
redis.call('HSET', KEYS[1], 'seq', seq)
"""


def _copy_redis(url: str, copies: int) -> None:
    client: Any = import_module("redis").Redis.from_url(url)
    ids = client.zrange("{holdfast}:all", 0, -1)
    script = client.register_script(_COPY)
    for number in range(1, copies + 1):
        for first in range(0, len(ids), 1000):
            script(keys=["{holdfast}"], args=[copies, number, DAY, *ids[first : first + 1000]])
    client.close()
