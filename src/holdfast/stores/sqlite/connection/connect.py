"""How every connection of ours to a store's file is opened."""

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
_LOG_KEPT = 64 * 1024 * 1024
_OPENING = 30.0


def connect(path: Path, factory: type[C], *, synchronous: Synchronous, patience: float) -> C:
    """Open a connection to an existing file, usable from any thread.

    `patience` is how long SQLite itself waits for a lock, in seconds. Opening always waits: others may be about to make
    the file, or to recover its log.
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
        connection.execute(f"pragma journal_size_limit={_LOG_KEPT}")
        if not SAFE_WAL:
            connection.execute("pragma wal_autocheckpoint=0")
        connection.execute(f"pragma busy_timeout={round(patience * 1000)}")
    except BaseException:
        connection.close()
        raise
    return connection
