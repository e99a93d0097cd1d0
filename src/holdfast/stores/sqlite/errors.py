"""Translate SQLite's errors into errors of Holdfast."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from holdfast.errors import HoldfastError, NotPermitted, StoreUnavailable
from holdfast.stores.sql.redaction import redact

ERROR = 1
"""SQLITE_ERROR: for example, a statement with an unknown table, or the creation of an existing one."""
BUSY = 5
LOCKED = 6
BUSY_SNAPSHOT = 517

_DENIED = {
    3: "no permission to open the file",
    8: "the file, or its directory, is read-only",
    23: "the connection's authorizer refused a statement",
}
DB_MOVED = 1032
"""A special case of code 8: the file was removed or replaced. It is not a matter of permissions."""

_MEANINGS = {
    DB_MOVED: "the file was removed or replaced while it was open",
    BUSY: "another connection held the write lock for too long; if it is a transaction of this program, "
    "pass it as tx= instead of waiting for it",
    LOCKED: "a table is locked by another statement of this connection",
    7: "out of memory",
    10: "the disk reported an error",
    11: "the file is damaged; restore it from a backup",
    13: "the disk is full",
    14: "the file cannot be opened",
    26: "the file is not a SQLite database",
    BUSY_SNAPSHOT: "this transaction read before it wrote, and another has written in between; begin it with "
    "BEGIN IMMEDIATE, or perform Holdfast's part first",
}


NEEDED = "permission to read and write the file, and to create files in its directory"


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection has the lock, so that a retry may succeed."""
    return code(error) & 0xFF in (BUSY, LOCKED)


def code(error: BaseException) -> int:
    """The extended error code of SQLite; 0 for other errors."""
    return int(getattr(error, "sqlite_errorcode", None) or 0)


def translate(error: BaseException, store: str) -> HoldfastError | None:
    """The error of Holdfast for an error of SQLite; None for a mistake in a program."""
    number = code(error)
    meaning = _MEANINGS.get(number) or _MEANINGS.get(number & 0xFF)
    if meaning is None and (denied := _DENIED.get(number & 0xFF)) is not None:
        return NotPermitted(store, f"{denied} ({error})", NEEDED)
    return None if meaning is None else StoreUnavailable(store, f"{meaning} ({error})")


@contextmanager
def translated(store: str) -> Generator[None]:
    """Raise SQLite's errors as ours."""
    try:
        yield
    except sqlite3.Error as error:
        if (ours := translate(error, store)) is not None:
            raise ours from error
        raise
    except Exception as error:
        redact(error)
        # SQLAlchemy wraps the error of the driver, and Django raises its own error from it.
        for inner in (getattr(error, "orig", None), error.__cause__, error):
            if inner is not None and (ours := translate(inner, store)) is not None:
                raise ours from error
        raise
