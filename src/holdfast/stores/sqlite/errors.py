"""SQLite's errors as ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from holdfast.errors import HoldfastError, NotPermitted, StoreUnavailable
from holdfast.stores.sql.redaction import redact

ERROR = 1
"""A statement that cannot be: it names what is not there, or makes what is."""
BUSY = 5
LOCKED = 6
BUSY_SNAPSHOT = 517

_DENIED = {
    3: "no permission to open the file",
    8: "the file, or its directory, is read-only",
    23: "the connection's authorizer refused a statement",
}
DB_MOVED = 1032
"""Of code 8: the file was removed or replaced, which no permission can change."""

_MEANINGS = {
    DB_MOVED: "the file was removed or replaced while it was open",
    BUSY: "another connection held the write lock for too long; if it is a transaction of this very program, "
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
    """Whether trying again may help."""
    return code(error) & 0xFF in (BUSY, LOCKED)


def code(error: BaseException) -> int:
    """SQLite's extended code of an error; 0 where there is none."""
    return int(getattr(error, "sqlite_errorcode", None) or 0)


def translate(error: BaseException, store: str) -> HoldfastError | None:
    """What an error of SQLite's means for the caller; None if it is no fault of the store but a program's mistake."""
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
        # SQLAlchemy wraps the driver's error, Django raises one of its own from it.
        for inner in (getattr(error, "orig", None), error.__cause__, error):
            if inner is not None and (ours := translate(inner, store)) is not None:
                raise ours from error
        raise
