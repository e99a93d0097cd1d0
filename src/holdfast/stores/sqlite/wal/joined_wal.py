"""Maintenance of the write-ahead log for the commits of the application, which the store does not see.

A connection of the application must not checkpoint with a library that has the WAL-reset bug. Without this, the log of
a program that only writes with `tx=` would grow without end, and every commit would wait for the new length.
"""

from __future__ import annotations

import logging
import threading

from holdfast.stores.sqlite.connection.database_file import DatabaseFile
from holdfast.stores.sqlite.connection.threads import ThreadPool
from holdfast.stores.sqlite.wal.wal import TIMEOUT, Wal
from holdfast.stores.sqlite.writing.write_queue import Waiter

TRIES = 30
"""How often the maintenance waits for the write lock, each time for `TIMEOUT` seconds."""

_log = logging.getLogger("holdfast.sqlite")


class JoinedWal:
    """Counts the operations in transactions of the application. Any thread may use it."""

    def __init__(self, file: DatabaseFile, threads: ThreadPool) -> None:
        self._file = file
        self._threads = threads
        self._wal = Wal(file)
        self._lock = threading.Lock()
        self._rows = 0
        self._requested = False

    def count(self, rows: int) -> None:
        """Count an operation and its rows. If the log needs maintenance, a thread does it when the lock is free."""
        with self._lock:
            self._rows += rows
            if self._requested or not self._wal.needs_maintenance(self._rows) or self._threads.ended:
                return
            self._requested = True
        try:
            self._threads.submit(self._maintain)
        except RuntimeError as error:
            self._requested = False
            self._failed(error)

    def _maintain(self) -> None:
        try:
            self._try_until_maintained()
        except Exception as error:
            self._failed(error)
        finally:
            self._requested = False

    def _try_until_maintained(self) -> None:
        # The transaction that requested it is still open.
        for _ in range(TRIES):
            if self._is_maintained() or self._threads.ended:
                break

    def _is_maintained(self) -> bool:
        """Maintain the log, unless the write lock is not free in time."""
        waiter = Waiter()
        try:
            if not self._file.write_queue.enter_sync(waiter, TIMEOUT):
                return False
            connection = self._file.connect()
            try:
                return self._wal.maintain(connection)
            finally:
                self._wal.close()
                connection.close()
        finally:
            self._file.write_queue.leave(waiter)

    def _failed(self, error: Exception) -> None:
        # The application's operation is not affected.
        _log.warning("the write-ahead log of %s was not maintained: %s", self._file.name, error)
