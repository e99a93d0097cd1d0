"""Bring a file's schema up to date."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator

from holdfast.sql import files
from holdfast.stores.sqlite.gate import Gate
from holdfast.stores.sqlite.translating import is_busy

OLDEST = (3, 31, 0)

_TABLE = """
create table if not exists holdfast_migration (name text primary key, applied_at integer not null) without rowid
"""


def steps() -> dict[str, str]:
    """The migrations, oldest first."""
    return files.read("holdfast.stores.sqlite.migrations")


def migrate(connection: sqlite3.Connection, gate: Gate, *, now: int, timeout: float) -> list[str]:
    """Apply what is missing; answers the names of the steps applied.

    Of any number of processes that do this at once, one applies each step, and all return when it is done.
    """
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


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, one by one: `executescript` would commit the transaction that they are part of."""
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""
