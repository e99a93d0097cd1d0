"""When to fold the write-ahead log into the file, where SQLite must not do it by itself."""

from __future__ import annotations

import logging
import sqlite3

from holdfast.stores.sqlite.checkpoint import checkpoint
from holdfast.stores.sqlite.connecting import SAFE_WAL
from holdfast.stores.sqlite.file import File

PAGES = 1000
"""Checkpoint when the log has grown by about this many pages, as SQLite does."""

_PAGES_PER_COMMIT = 5
_ROWS_PER_PAGE = 10
_PATIENCE = 1.0

_log = logging.getLogger("holdfast.sqlite")


class Checkpointer:
    """Counts what one writer adds to the log. Every process does so for itself: together they do it too often, not too
    rarely. For one thread at a time."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._copier: sqlite3.Connection | None = None
        self._pages = 0
        self._rows = 0

    def is_due(self, writer: sqlite3.Connection) -> bool:
        """Whether it is time for a checkpoint, now that a transaction of `writer` was committed."""
        if SAFE_WAL:
            return False
        changes = writer.total_changes
        self._pages += _PAGES_PER_COMMIT + max(0, changes - self._rows) // _ROWS_PER_PAGE
        self._rows = changes
        return self._pages >= PAGES

    def checkpoint(self, writer: sqlite3.Connection) -> None:
        """Fold the log into the file, unless somebody else keeps the write lock."""
        self._pages = 0
        try:
            if self._copier is None:
                self._copier = self._file.connect()
            copier = self._copier
            self._file.gate.patiently(lambda: checkpoint(writer, copier), _PATIENCE)
        except sqlite3.Error as error:
            # The commit stands, and a later one tries again.
            _log.warning("no checkpoint of %s: %s", self._file.name, error)

    def close(self) -> None:
        if self._copier is not None:
            self._copier.close()
            self._copier = None
