"""Copies of the jobs of a type inside a SQL store, so that a thousand become millions.

A copy has another id and is otherwise equal. The numbers of jobs that the store keeps are corrected.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import psycopg

from holdfast.engine.store import Store
from holdfast.stores.postgres import PostgresStore
from holdfast.stores.sqlite import SqliteStore

STEP = 100
"""Copies of each job that one statement writes."""

_COLUMNS = "select column_name from information_schema.columns where table_schema = %s and table_name = 'job'"
_INDEXES = (
    "select indexname, indexdef from pg_indexes where schemaname = %s and tablename = 'job' and indexname <> 'job_pkey'"
)
_LAST = "select max(seq), count(*) from {job} where type = '{type}'"
_COPY = (
    "insert into {job} ({names}) select {copied} from {job}, {numbers}"
    " where type = '{type}' and seq <= {last} order by copy.number, seq"
)
_STARTED = "insert into {tally} (type, minute, jobs) values ('{type}', 1, {jobs})"
_COMPLETED = (
    "insert into {change} (type, minute, kind, number, wait_total, run_total, at)"
    " select type, 1, 'completed', count(*) * {copies}, 0, 0, 0 from {job}"
    " where type = '{type}' and status = 'completed' and seq <= {last} group by type"
)


def copies_jobs(store: Store) -> bool:
    """Whether this module can copy the jobs of the store."""
    return isinstance(store, PostgresStore | SqliteStore)


def copy_jobs(store: Store, type: str, copies: int) -> None:
    """Add this number of copies of each job of a type."""
    if isinstance(store, PostgresStore):
        with closing(psycopg.connect(**store.address.connection, autocommit=True)) as connection:
            _copy_postgres(connection, store.schema, type, copies)
    elif isinstance(store, SqliteStore):
        with closing(sqlite3.connect(store.address.path)) as connection:
            rows = connection.execute("select name from pragma_table_info('holdfast_job')").fetchall()
            tables = {"job": "holdfast_job", "tally": "holdfast_tally", "change": "holdfast_counter_change"}
            _copy(lambda text: connection.execute(text).fetchall(), tables, rows, type, copies)
            connection.commit()
    else:
        raise TypeError(f"{store.name}: its jobs cannot be copied")


def tidy(store: Store) -> None:
    """Do what autovacuum and checkpoints do within minutes. Redis has nothing like them."""
    if isinstance(store, PostgresStore):
        with closing(psycopg.connect(**store.address.connection, autocommit=True)) as connection:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")
    elif isinstance(store, SqliteStore):
        with closing(sqlite3.connect(store.address.path)) as connection:
            connection.execute("pragma wal_checkpoint(truncate)")


def _copy_postgres(connection: psycopg.Connection, schema: str, type: str, copies: int) -> None:
    def execute(text: str) -> Sequence[tuple[Any, ...]]:
        cursor = connection.execute(text.encode())
        return cursor.fetchall() if cursor.description is not None else []

    rows = connection.execute(_COLUMNS, (schema,)).fetchall()
    indexes = connection.execute(_INDEXES, (schema,)).fetchall()
    connection.execute("set synchronous_commit = off; set maintenance_work_mem = '512MB'")
    # Building the indexes at the end takes a fraction of the time.
    for name, _ in indexes:
        execute(f'drop index "{schema}".{name}')
    tables = {name: f'"{schema}".{table}' for name, table in _TABLES.items()}
    _copy(execute, tables, rows, type, copies)
    for _, definition in indexes:
        execute(definition)


_TABLES = {"job": "job", "tally": "tally", "change": "counter_change"}


def _copy(
    execute: Callable[[str], Sequence[tuple[Any, ...]]],
    tables: dict[str, str],
    columns: Sequence[tuple[Any, ...]],
    type: str,
    copies: int,
) -> None:
    ((last, found),) = execute(_LAST.format(**tables, type=type))
    names = [str(name) for (name,) in columns if name != "seq"]
    copied = ", ".join(f"{name} || '.' || copy.number" if name in ("id", "chain_id") else name for name in names)
    for first in range(1, copies + 1, STEP):
        numbers = _NUMBERS.format(first=first, last=min(first + STEP - 1, copies))
        execute(_COPY.format(**tables, names=", ".join(names), copied=copied, numbers=numbers, type=type, last=last))
    execute(_STARTED.format(**tables, type=type, jobs=found * copies))
    execute(_COMPLETED.format(**tables, type=type, copies=copies, last=last))


_NUMBERS = (
    "(with recursive count (number) as (select {first} union all select number + 1 from count where number < {last})"
    " select number from count) copy"
)
