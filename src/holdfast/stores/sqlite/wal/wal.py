"""What the write-ahead log needs besides commits: a length, and checkpoints where SQLite must not make them itself."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable

from holdfast.stores.sqlite.connection.connect import SAFE_WAL
from holdfast.stores.sqlite.connection.database_file import File
from holdfast.stores.sqlite.wal.checkpoint import checkpoint
from holdfast.stores.sqlite.wal.wal_preallocation import lengthen

PAGES = 1000
"""Checkpoint when the log has grown by about this many pages, as SQLite does."""

SETTLED = 8
"""Commits after which a program counts as one that stays, and the log gets its length: it takes as long as ten."""

_PAGES_PER_COMMIT = 5
_ROWS_PER_PAGE = 10
_PATIENCE = 1.0

_log = logging.getLogger("holdfast.sqlite")


class Log:
    """The log as one writer knows it, which counts what it adds. Every process does so for itself: together they
    checkpoint too often, not too rarely. For one thread at a time."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._copier: sqlite3.Connection | None = None
        self._commits = 0
        self._pages = 0
        self._rows = 0

    def wants_care(self, writer: sqlite3.Connection) -> bool:
        """Whether there is something to do, now that a transaction of `writer` was committed."""
        self._commits += 1
        if self._wants_length:
            return True
        if SAFE_WAL:
            return False
        changes = writer.total_changes
        self._pages += _PAGES_PER_COMMIT + max(0, changes - self._rows) // _ROWS_PER_PAGE
        self._rows = changes
        return self._pages >= PAGES

    def care(self, writer: sqlite3.Connection) -> None:
        """Do what there is to do, unless somebody else keeps the write lock."""
        if self._wants_length:
            self._try("no length for the log of", lambda: lengthen(writer, self._file.path))
        if self._pages >= PAGES:
            self._pages = 0
            self._try("no checkpoint of", lambda: checkpoint(writer, self._open_copier()))

    def close(self) -> None:
        if self._copier is not None:
            self._copier.close()
            self._copier = None

    @property
    def _wants_length(self) -> bool:
        return self._commits == SETTLED and self._file.synced

    def _open_copier(self) -> sqlite3.Connection:
        if self._copier is None:
            self._copier = self._file.connect()
        return self._copier

    def _try(self, without: str, care: Callable[[], object]) -> None:
        try:
            self._file.gate.patiently(care, _PATIENCE)
        except (sqlite3.Error, OSError) as error:
            # The commit stands, and nothing depends on this.
            _log.warning("%s %s: %s", without, self._file.name, error)
