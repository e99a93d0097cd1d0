"""Bring a file's schema up to date."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from functools import cache

from holdfast.stores.sql import files
from holdfast.stores.sqlite.errors import ERROR, code, is_busy
from holdfast.stores.sqlite.writing.process_write_lock import Gate

OLDEST = (3, 31, 0)

_TABLE = """
create table if not exists holdfast_migration (name text primary key, applied_at integer not null) without rowid
"""


_COLUMNS = """
select part.name, info.name from sqlite_master part, pragma_table_info(part.name) info
 where part.name like 'holdfast\\_%' escape '\\' and part.type in ('table', 'view')
"""


def steps() -> dict[str, str]:
    """The migrations, oldest first."""
    return files.read("holdfast.stores.sqlite.migrations")


def migrate(connection: sqlite3.Connection, gate: Gate, *, now: int, timeout: float) -> list[str]:
    """Apply what is missing; answers the names of the steps applied.

    Of any number of processes that do this at once, one applies each step, and all return when it is done.
    ValueError: the file has tables under our names that are not ours, or lacks some of what we read. What a later
    release added is no hindrance.
    """
    try:
        applied = _apply(connection, gate, now=now, timeout=timeout)
    except sqlite3.OperationalError as error:
        if code(error) != ERROR:
            raise
        raise ValueError(
            f"the file has tables named holdfast_... that Holdfast did not make ({error}); use another file"
        ) from error
    if lacking := _lacking(connection):
        raise ValueError(
            f"the file lacks {', '.join(lacking)}, though its migrations are recorded as applied; "
            "restore it from a backup, or use another file"
        )
    return applied


def _apply(connection: sqlite3.Connection, gate: Gate, *, now: int, timeout: float) -> list[str]:
    if not _missing(connection):
        return []
    gate.begin(connection, timeout)
    try:
        connection.execute(_TABLE)
        applied: list[str] = []
        for name in _missing(connection):
            for statement in _statements(steps()[name]):
                connection.execute(statement)
            connection.execute("insert into holdfast_migration values (?, ?)", (name, now))
            applied.append(name)
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise
    return applied


def use_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Have the file use a write-ahead log. SQLite does not wait for others here, so we do."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            [(mode,)] = connection.execute("pragma journal_mode=wal").fetchall()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
        else:
            if mode == "wal":
                return
            if time.monotonic() > deadline:
                raise sqlite3.OperationalError(f"the file stays in journal mode {mode!r}; Holdfast needs wal")
        time.sleep(0.005)


def _missing(connection: sqlite3.Connection) -> list[str]:
    try:
        applied = {name for (name,) in connection.execute("select name from holdfast_migration").fetchall()}
    except sqlite3.OperationalError as error:
        if is_busy(error) or "no such table" not in str(error):
            raise
        applied = set[str]()
    return [name for name in steps() if name not in applied]


def _lacking(connection: sqlite3.Connection) -> list[str]:
    """Tables and columns of this release that the file has not."""
    present = _columns(connection)
    whole = [table for table in _expected() if table not in present]
    parts = [
        f"{table}.{column}"
        for table, columns in _expected().items()
        if table in present
        for column in sorted(columns - present[table])
    ]
    return whole + parts


@cache
def _expected() -> dict[str, set[str]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for script in steps().values():
            connection.executescript(script)
        return _columns(connection)


def _columns(connection: sqlite3.Connection) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for table, column in connection.execute(_COLUMNS).fetchall():
        found.setdefault(table, set()).add(column)
    return found


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: `executescript` would commit the transaction that they are part of."""
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""
