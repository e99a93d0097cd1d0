"""Open a connection of the store to its file."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from holdfast.stores.sqlite.address import Synchronous
from holdfast.stores.sqlite.wal.version import wal_is_safe

C = TypeVar("C", bound=sqlite3.Connection)

SAFE_WAL = wal_is_safe(sqlite3.sqlite_version_info[:3])
"""Whether SQLite may checkpoint by itself."""

_STATEMENTS = 256
_CACHE_KIB = 16 * 1024
_WAL_KEPT = 64 * 1024 * 1024
_OPENING = 30.0
"""Seconds that SQLite waits for a lock while a connection is being opened."""

READ_TIMEOUT = 5.0
"""Seconds. A reader waits only while the write-ahead log is being recovered or removed, which takes moments."""


def connect(path: Path, factory: type[C], *, synchronous: Synchronous, busy_timeout: float) -> C:
    """Open a connection to an existing file, usable from any thread.

    `busy_timeout` is how long SQLite itself waits for a lock, in seconds. Opening always waits: another process may be
    creating the tables or recovering the write-ahead log.
    """
    connection: C = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        timeout=_OPENING,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_STATEMENTS,
        factory=factory,
    )
    try:
        connection.execute(f"pragma synchronous={synchronous}")
        connection.execute(f"pragma cache_size=-{_CACHE_KIB}")
        connection.execute("pragma temp_store=memory")
        connection.execute(f"pragma journal_size_limit={_WAL_KEPT}")
        if not SAFE_WAL:
            connection.execute("pragma wal_autocheckpoint=0")
        connection.execute(f"pragma busy_timeout={round(busy_timeout * 1000)}")
    except BaseException:
        connection.close()
        raise
    return connection
