"""Open transactions on connections that the application may use as well.

A process has one such transaction at a time, because SQLite has one writer. The others wait in the write queue.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from functools import partial

from holdfast.core.clock import Micros
from holdfast.engine.generators import drive
from holdfast.engine.wakeups import Hints
from holdfast.stores.sql.plan import Plan
from holdfast.stores.sqlite.connection.database_file import DatabaseFile
from holdfast.stores.sqlite.connection.execute import executor
from holdfast.stores.sqlite.connection.lent_connection import LentConnection
from holdfast.stores.sqlite.connection.threads import ThreadPool
from holdfast.stores.sqlite.connection.transaction import StoreTransaction, SyncStoreTransaction
from holdfast.stores.sqlite.connection.transaction_thread import Answer, TransactionThread
from holdfast.stores.sqlite.errors import translated
from holdfast.stores.sqlite.wal.wal import Wal
from holdfast.stores.sqlite.writing.write_queue import Waiter

_NONE = Hints()


class Transactions:
    """Opens transactions and keeps their connections for the next ones."""

    def __init__(
        self,
        file: DatabaseFile,
        *,
        clock: Callable[[], Micros],
        write_hints: Callable[[Hints], Plan[None]],
        send: Callable[[Hints], None],
        threads: ThreadPool,
        transaction_thread: TransactionThread,
    ) -> None:
        self.file = file
        self.clock = clock
        self.write_hints = write_hints
        self.send = send
        self.threads = threads
        self.transaction_thread = transaction_thread
        self._wal = Wal(file)
        self._idle: list[LentConnection] = []
        self._closed = False

    def begin_sync(self) -> SyncStoreTransaction:
        waiter = Waiter()
        try:
            if not self.file.write_queue.enter_sync(waiter, self.file.timeout):
                raise self.file.blocked()
            connection = self._lend(waiter)
        except BaseException:
            self.file.write_queue.leave(waiter)
            raise
        # A new thread: the code that is interrupted by garbage collection may hold a lock of the transaction thread.
        connection.dropped = partial(_thread.start_new_thread, self.file.write_queue.leave, (waiter,))
        return SyncStoreTransaction(self, connection)

    async def begin(self) -> StoreTransaction:
        loop, write_queue = asyncio.get_running_loop(), self.file.write_queue
        lent: asyncio.Future[LentConnection] = loop.create_future()
        # Start the thread here. If it cannot start, the error must reach this caller and not the one that leaves the
        # write queue.
        self.transaction_thread.get_ready()
        # The caller that leaves the queue begins this transaction, mostly in the transaction thread itself. The event
        # loop does not have to wake up for it.
        waiter = Waiter(lambda: self.transaction_thread.begin(lambda: self._lend_to(waiter, lent)))
        write_queue.enter(waiter)
        timer = loop.call_later(self.file.timeout, self._time_out, waiter, lent)
        try:
            connection = await lent
        except asyncio.CancelledError:
            if lent.cancelled():
                write_queue.withdraw(waiter)
            elif lent.exception() is None:  # the connection came at the same moment
                self._take_back(lent.result())
            raise
        finally:
            timer.cancel()
        return StoreTransaction(self, connection)

    def end(self, connection: LentConnection, how: str, hints: Hints = _NONE) -> None:
        """Commit or roll back, and admit the next writer. The next one is admitted after an error, too."""
        try:
            with translated(self.file.name):
                if how == "commit":
                    connection.check_open()
                    self.file.check_replaced()
                connection.take_back()
                # SQLite refuses a commit while a statement that writes has unread rows.
                connection.end_reading()
                if connection.in_transaction:
                    drive(self.write_hints(hints), executor(connection))
                    connection.end(how)
            if not self._closed and self._wal.needs_maintenance(connection.total_changes):
                self._wal.maintain(connection)
            connection.dropped = None
            if self._closed:
                connection.close()
            else:
                connection.make_plain()
                self._idle.append(connection)
        except BaseException:
            connection.take_back()
            connection.close()
            raise
        finally:
            self._leave(connection)

    def take_away(self, connection: LentConnection) -> None:
        """Roll back while another thread may use the connection, and admit the next writer.

        The connection becomes read-only first: a later write of that thread would commit by itself. The rollback waits
        for the statement that runs now. The connection is not used again; its owner closes it.
        """
        with contextlib.suppress(sqlite3.Error):  # a statement of the application has already ended the transaction
            connection.execute("pragma query_only = on")
            connection.end("rollback")
        connection.take_back()
        self._leave(connection)

    def close(self) -> None:
        """Close the connections. A connection that is in use is closed when its transaction ends."""
        self._closed = True
        self._wal.close()
        while self._idle:
            self._idle.pop().close()

    def _time_out(self, waiter: Waiter, lent: asyncio.Future[LentConnection]) -> None:
        if not lent.done() and self.file.write_queue.withdraw(waiter):
            lent.set_exception(self.file.blocked())

    def _lend_to(self, waiter: Waiter, lent: asyncio.Future[LentConnection]) -> None:
        if waiter.begun:
            return
        waiter.begun = True
        # The queue must not keep a reference to the future, and through it to the connection: a dropped connection
        # could not be collected.
        waiter.admit = _do_nothing
        thread, loop = self.transaction_thread, lent.get_loop()
        try:
            connection = self._lend(waiter, before_wait=thread.send_answers)
        except BaseException as error:
            self.file.write_queue.leave(waiter)
            thread.answer_first(Answer(loop, _fail, (lent, error)))
            return
        # A closed loop drops its callbacks and its tasks, and with them the connection.
        connection.dropped = partial(thread.submit, partial(self.file.write_queue.leave, waiter))
        thread.answer_first(Answer(loop, self._deliver, (lent, connection), partial(self._roll_back, connection)))

    def _deliver(self, lent: asyncio.Future[LentConnection], connection: LentConnection) -> None:
        if lent.done():
            self._take_back(connection)
        else:
            lent.set_result(connection)

    def _take_back(self, connection: LentConnection) -> None:
        """Roll back a transaction whose task was cancelled before it received the connection."""
        self.transaction_thread.submit(lambda: self._roll_back(connection))

    def _roll_back(self, connection: LentConnection) -> None:
        with contextlib.suppress(Exception):  # `end` has closed the connection
            self.end(connection, "rollback")

    def _lend(self, waiter: Waiter, before_wait: Callable[[], object] | None = None) -> LentConnection:
        """A connection in a new transaction. The waiter is admitted. After an error the caller removes the waiter."""
        if self._closed:
            raise RuntimeError(f"{self.file.name} was closed while this transaction waited in the write queue")
        with translated(self.file.name):
            connection = self._idle.pop() if self._idle else self.file.connect_as(LentConnection)
            try:
                self.file.write_lock.begin(connection, self.file.timeout, before_wait)
            except BaseException:
                connection.close()
                raise
        connection.waiter = waiter
        connection.lend()
        self.file.write_queue.in_transaction = True
        return connection

    def _leave(self, connection: LentConnection) -> None:
        """Admit the next writer after the transaction on this connection."""
        waiter, connection.waiter = connection.waiter, None
        if waiter is not None:
            self.file.write_queue.in_transaction = False
            self.file.write_queue.leave(waiter)


def _do_nothing() -> None:
    """The transaction has begun, so a second admission does nothing."""


def _fail(lent: asyncio.Future[LentConnection], error: BaseException) -> None:
    if not lent.done():
        lent.set_exception(error)
