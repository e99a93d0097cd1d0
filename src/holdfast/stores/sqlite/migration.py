"""Apply the missing migrations to a file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

from holdfast.stores.sql import files
from holdfast.stores.sqlite.errors import ERROR, code, is_busy
from holdfast.stores.sqlite.writing.process_write_lock import ProcessWriteLock

OLDEST = (3, 31, 0)

TABLE = "holdfast_migration"
CREATE_TABLE = f"""
create table if not exists {TABLE} (name text primary key, applied_at integer not null) without rowid
"""


_COLUMNS = """
select part.name, info.name from sqlite_master part, pragma_table_info(part.name) info
 where part.name like 'holdfast\\_%' escape '\\' and part.type in ('table', 'view')
"""


def migrations() -> dict[str, str]:
    """The migrations, oldest first."""
    return files.read("holdfast.stores.sqlite.migrations")


def migrate(connection: sqlite3.Connection, write_lock: ProcessWriteLock, *, now: int, timeout: float) -> list[str]:
    """Apply the missing migrations. Returns their names.

    Several processes may do this at the same time. One of them applies each migration, and all return when it is done.
    ValueError: the file has tables with our names that Holdfast did not create, or it lacks tables or columns that this
    release reads. Additional columns of a later release are accepted.
    """
    try:
        applied = _apply(connection, write_lock, now=now, timeout=timeout)
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


def pending(path: Path) -> list[str]:
    """The migrations that the file lacks. Opens it to read; a file that does not exist lacks all of them."""
    if not path.exists():
        return list(migrations())
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return _missing(connection)


def _apply(connection: sqlite3.Connection, write_lock: ProcessWriteLock, *, now: int, timeout: float) -> list[str]:
    if not _missing(connection):
        return []
    write_lock.begin(connection, timeout)
    try:
        connection.execute(CREATE_TABLE)
        applied: list[str] = []
        for name in _missing(connection):
            for statement in statements(migrations()[name]):
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
    """Switch the file to a write-ahead log. SQLite does not wait for other connections here, so this function does."""
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
    return [name for name in migrations() if name not in applied]


def _lacking(connection: sqlite3.Connection) -> list[str]:
    """Tables and columns of this release that are missing in the file."""
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
        for script in migrations().values():
            connection.executescript(script)
        return _columns(connection)


def _columns(connection: sqlite3.Connection) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for table, column in connection.execute(_COLUMNS).fetchall():
        found.setdefault(table, set()).add(column)
    return found


def statements(script: str) -> Iterator[str]:
    """The statements of a script. `executescript` would commit the open transaction."""
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            yield text
            text = ""
