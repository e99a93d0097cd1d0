"""The connection of the writer: several operations in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from holdfast.core.clock import Micros
from holdfast.engine.generators import drive
from holdfast.engine.wakeups import Hints
from holdfast.stores.sql.plan import Plan, PlanContext
from holdfast.stores.sqlite.connection.database_file import DatabaseFile
from holdfast.stores.sqlite.connection.execute import Execute, executor
from holdfast.stores.sqlite.errors import is_busy, translate
from holdfast.stores.sqlite.verbs.plans import plan
from holdfast.stores.sqlite.wal.wal import Wal
from holdfast.stores.sqlite.writing.write_request import WriteRequest

_NOTHING = Hints()


class WriteConnection:
    """A connection that is opened when it is needed. For one thread at a time."""

    def __init__(
        self, file: DatabaseFile, *, clock: Callable[[], Micros], write_hints: Callable[[Hints], Plan[None]]
    ) -> None:
        self._file = file
        self._clock = clock
        self._write_hints = write_hints
        self._wal = Wal(file)
        self.connection: sqlite3.Connection | None = None

    def needs_maintenance(self) -> bool:
        """Whether the write-ahead log needs maintenance after a commit."""
        return self.connection is not None and self._wal.needs_maintenance(self.connection.total_changes)

    def maintain(self) -> None:
        if self.connection is not None:
            self._wal.maintain(self.connection)

    def close(self) -> None:
        self._wal.close()
        self.discard()

    def perform(self, together: list[WriteRequest]) -> Hints:
        """Perform requests in one transaction and commit it. Returns their hints."""
        if self.connection is None:
            self.connection = self._file.connect()
        connection = self.connection
        execute = executor(connection)
        try:
            self._file.write_lock.begin(connection, self._file.timeout)
            self._file.check_replaced()  # now: it may have been replaced during the wait for the lock
            if len(together) == 1:
                hints = self._perform_one(connection, execute, together[0], alone=True)
            else:
                hints = Hints()
                for request in together:
                    hints.add(self._perform_one(connection, execute, request, alone=False))
            if connection.in_transaction:
                drive(self._write_hints(hints), execute)
                connection.execute("commit")
        except BaseException as error:
            if isinstance(error, sqlite3.Error) and is_busy(error):
                if connection.in_transaction:
                    connection.execute("rollback")
            else:
                self.discard()
            raise
        return hints

    def _perform_one(
        self, connection: sqlite3.Connection, execute: Execute, request: WriteRequest, *, alone: bool
    ) -> Hints:
        """Perform one of several operations. Returns its hints. Its own error undoes only this operation."""
        context = PlanContext(self._clock())
        if not alone:
            connection.execute("savepoint one")
        try:
            request.result = drive(plan(request.operation, context), execute)
        except Exception as error:
            if not connection.in_transaction or translate(error, self._file.name) is not None:
                raise  # an error of the store concerns all operations
            connection.execute("rollback" if alone else "rollback to one")
            request.error = error
            context.hints = _NOTHING
        if not alone:
            connection.execute("release one")
        return context.hints

    def translated(self, error: sqlite3.Error) -> BaseException:
        ours = translate(error, self._file.name)
        if ours is None:
            return error
        ours.__cause__ = error
        return ours

    def discard(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()
