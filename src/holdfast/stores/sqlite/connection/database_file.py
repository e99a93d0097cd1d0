"""The file of a store: its connections, and the order in which they write."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TypeVar

from holdfast.core.clock import Micros
from holdfast.errors import NotPermitted, StoreReplaced, StoreUnavailable
from holdfast.stores.sqlite import migration
from holdfast.stores.sqlite.address import SqliteAddress, Synchronous
from holdfast.stores.sqlite.connection import file_checks
from holdfast.stores.sqlite.connection.connect import READ_TIMEOUT, connect
from holdfast.stores.sqlite.errors import NEEDED
from holdfast.stores.sqlite.writing.process_write_lock import ProcessWriteLock
from holdfast.stores.sqlite.writing.write_queue import WriteQueue, write_queue

C = TypeVar("C", bound=sqlite3.Connection)


class DatabaseFile:
    """An open file. It belongs to the process that opened it: a connection does not survive a fork."""

    def __init__(self, address: SqliteAddress) -> None:
        if sqlite3.sqlite_version_info < migration.OLDEST:
            oldest = ".".join(map(str, migration.OLDEST))
            raise StoreUnavailable(address.name, f"SQLite {oldest} or newer is needed, not {sqlite3.sqlite_version}")
        try:
            self.path: Path = file_checks.prepare(address.path)
        except FileNotFoundError as error:
            detail = f"there is no folder {error.filename}; make the folder first"
            raise StoreUnavailable(address.name, detail) from error
        except PermissionError as error:
            raise NotPermitted(address.name, str(error), NEEDED) from error
        except OSError as error:
            raise StoreUnavailable(address.name, str(error)) from error
        self.name = address.name
        self.timeout = address.timeout
        self._path_text = str(self.path)
        self._identity = file_checks.identity(self._path_text)
        self._synchronous: Synchronous = address.synchronous
        self.synced = address.synchronous == "full"
        """Whether every commit waits for the disk."""
        self._pid = os.getpid()
        self.write_queue: WriteQueue = write_queue(self.path)
        try:
            self.write_lock = ProcessWriteLock(self.path)
        except PermissionError as error:
            raise NotPermitted(address.name, str(error), NEEDED) from error
        except OSError as error:
            detail = f"{error.strerror}; the wake-up file must be a regular file, and no symbolic link: remove it"
            raise StoreUnavailable(address.name, f"{error.filename} cannot be opened: {detail}") from error

    def close(self) -> None:
        self.write_lock.close()

    def check_process(self) -> None:
        """Refuse use after a fork."""
        if os.getpid() != self._pid:
            raise RuntimeError(
                f"{self.name} was opened before this process was forked, and SQLite connections do not survive "
                "that; open a new client or store in the child"
            )

    def check_replaced(self) -> None:
        """StoreReplaced if the path no longer leads to the opened file: everything written to it would be lost."""
        if file_checks.identity(self._path_text) != self._identity:
            raise StoreReplaced(self.name, str(self.path))

    def connect(self) -> sqlite3.Connection:
        return self.connect_as(sqlite3.Connection)

    def connect_as(self, factory: type[C]) -> C:
        """A connection that writes. SQLite does not wait for the lock itself: `ProcessWriteLock` does."""
        self.check_replaced()
        return connect(self.path, factory, synchronous=self._synchronous, busy_timeout=0)

    def connect_reader(self) -> sqlite3.Connection:
        """A connection that only reads. It never waits for a writer."""
        self.check_replaced()
        connection = connect(self.path, sqlite3.Connection, synchronous=self._synchronous, busy_timeout=READ_TIMEOUT)
        connection.execute("pragma query_only=1")
        return connection

    def migrate(self, now: Micros) -> list[str]:
        """Create the missing tables."""
        connection = connect(self.path, sqlite3.Connection, synchronous=self._synchronous, busy_timeout=self.timeout)
        try:
            migration.use_wal(connection, self.timeout)
            return migration.migrate(connection, self.write_lock, now=now, timeout=self.timeout)
        finally:
            connection.close()

    def blocked(self) -> StoreUnavailable:
        """The error for a writer that was not admitted before its timeout."""
        if self.write_queue.in_transaction:
            detail = (
                f"a transaction of this program has been open for more than {self.timeout:g} s; pass it as tx=, "
                "or end it first"
            )
        else:
            detail = f"other threads or tasks of this program have been writing for more than {self.timeout:g} s"
        return StoreUnavailable(self.name, detail)
