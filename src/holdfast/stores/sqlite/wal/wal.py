"""Maintenance of the write-ahead log: preallocation, and checkpoints where SQLite must not make them itself."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable

from holdfast.stores.sqlite.connection.connect import SAFE_WAL
from holdfast.stores.sqlite.connection.database_file import DatabaseFile
from holdfast.stores.sqlite.errors import is_busy
from holdfast.stores.sqlite.wal.checkpoint import checkpoint
from holdfast.stores.sqlite.wal.wal_preallocation import preallocate

PAGES = 1000
"""Checkpoint after the log has grown by about this many pages, as SQLite does."""

PREALLOCATE_AFTER = 8
"""Commits before the log is preallocated, which takes as long as ten commits. A short program never pays for it."""

_PAGES_PER_COMMIT = 5
_ROWS_PER_PAGE = 10
TIMEOUT = 1.0
"""Seconds that the maintenance waits for the write lock."""

_log = logging.getLogger("holdfast.sqlite")


class Wal:
    """The write-ahead log from the view of one writer, which counts the pages that it adds.

    Each process counts for itself. Together they checkpoint too often rather than too rarely. For one thread at a time.
    """

    def __init__(self, file: DatabaseFile) -> None:
        self._file = file
        self._copier: sqlite3.Connection | None = None
        self._commits = 0
        self._preallocated = False
        self._pages = 0
        self._rows = 0
        self._paused_until = 0
        """The number of commits after which to try again, if the write lock was not free."""

    def needs_maintenance(self, changes: int) -> bool:
        """Count a commit. `changes` is the number of rows of all commits. Returns whether `maintain` is needed."""
        self._commits += 1
        if not SAFE_WAL:
            self._pages += _PAGES_PER_COMMIT + max(0, changes - self._rows) // _ROWS_PER_PAGE
            self._rows = changes
        return self._commits >= self._paused_until and (self._needs_preallocation or self._pages >= PAGES)

    def maintain(self, writer: sqlite3.Connection) -> bool:
        """Preallocate or checkpoint. Returns False if another connection keeps the write lock: try again later."""
        if self._needs_preallocation:
            if not self._try("no length for the log of", lambda: preallocate(writer, self._file.path)):
                return False
            self._preallocated = True
        if self._pages >= PAGES:
            if not self._try("no checkpoint of", lambda: checkpoint(writer, self._open_copier())):
                return False
            self._pages = 0
        return True

    def close(self) -> None:
        if self._copier is not None:
            self._copier.close()
            self._copier = None

    @property
    def _needs_preallocation(self) -> bool:
        return self._commits >= PREALLOCATE_AFTER and self._file.synced and not self._preallocated

    def _open_copier(self) -> sqlite3.Connection:
        if self._copier is None:
            self._copier = self._file.connect()
        return self._copier

    def _try(self, failed: str, action: Callable[[], object]) -> bool:
        """Returns False if the write lock was not free. Other errors are final."""
        try:
            self._file.write_lock.retry_while_busy(action, TIMEOUT)
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, sqlite3.Error) and is_busy(error):
                self._paused_until = self._commits + PREALLOCATE_AFTER
                return False
            # The commit is done, and correctness does not depend on the maintenance.
            _log.warning("%s %s: %s", failed, self._file.name, error)
        return True
