"""Transactions of the store's own, on a connection that the application may use as well.

There is one at a time per process, since SQLite has one writer; whoever comes meanwhile waits at the turnstile.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from holdfast.core.clock import Micros
from holdfast.engine.operations import Guard, Operation, Settle
from holdfast.engine.wakeups import Hints
from holdfast.stores.sql.lent_transaction import OVER
from holdfast.stores.sql.plan import Execution, Plan, gather, run
from holdfast.stores.sqlite.connection.database_file import File
from holdfast.stores.sqlite.connection.execute import executor
from holdfast.stores.sqlite.connection.lent_connection import HeldConnection, Line, facade
from holdfast.stores.sqlite.connection.threads import Threads
from holdfast.stores.sqlite.errors import translated
from holdfast.stores.sqlite.verbs.plans import plan
from holdfast.stores.sqlite.wal.wal import Log
from holdfast.stores.sqlite.writing.write_queue import Waiter

if TYPE_CHECKING:
    import aiosqlite

R = TypeVar("R")

_NONE = Hints()

_BRIEF = frozenset({Guard.verb, Settle.verb})
"""Done in the loop's own thread: they wait for nothing, since the lock is ours, nor for the disk, since the job was
claimed a moment ago and the commit is yet to come; and to ask a thread takes as long."""


class Lender:
    """Opens transactions, and keeps their connections for the next."""

    def __init__(
        self,
        file: File,
        *,
        clock: Callable[[], Micros],
        emit: Callable[[Hints], Plan[None]],
        send: Callable[[Hints], None],
        threads: Threads,
        lane: Threads,
    ) -> None:
        self.file = file
        self.clock = clock
        self.emit = emit
        self.send = send
        self.threads = threads
        self.lane = lane
        """The one thread in which transactions of async code run: there is one at a time, and so they need not wait for
        each other's threads to wake up."""
        self._log = Log(file)
        self._idle: list[HeldConnection] = []
        self._closed = False

    def begin_sync(self) -> SyncStoreTransaction:
        waiter = Waiter()
        try:
            if not self.file.turnstile.enter_sync(waiter, self.file.timeout):
                raise self.file.blocked()
            connection = self._lend(waiter)
        except BaseException:
            self.file.turnstile.leave(waiter)
            raise
        # Not in the lane: its lock may be held where the connection is collected.
        connection.dropped = partial(_thread.start_new_thread, self.file.turnstile.leave, (waiter,))
        return SyncStoreTransaction(self, connection)

    async def begin(self) -> StoreTransaction:
        loop, turnstile = asyncio.get_running_loop(), self.file.turnstile
        lent: asyncio.Future[HeldConnection] = loop.create_future()
        self.lane.get_ready()  # now, and not when it is our turn: whoever lets us in could not help it
        # Begun in the lane by whoever leaves, mostly in the lane itself: the loop need not wake up for it.
        waiter = Waiter(lambda: self.lane.submit(lambda: self._lend_to(waiter, lent)))
        turnstile.line_up(waiter)
        timer = loop.call_later(self.file.timeout, self._turn_away, waiter, lent)
        try:
            connection = await lent
        except asyncio.CancelledError:
            if lent.cancelled():
                turnstile.step_out(waiter)
            elif lent.exception() is None:  # it came at the same moment
                self._take_back(lent.result())
            raise
        finally:
            timer.cancel()
        try:
            return StoreTransaction(self, connection)
        except BaseException:  # a driver that is not as we know it
            self._take_back(connection)
            raise

    def end(self, connection: HeldConnection, how: str, hints: Hints = _NONE) -> None:
        """Commit or roll back, and let the next one in, whatever happens."""
        try:
            with translated(self.file.name):
                if how == "commit":
                    connection.check_open()
                    self.file.check_place()
                connection.take_back()
                # Before the commit, which SQLite refuses while a statement that writes has rows left to give.
                connection.end_reading()
                if connection.in_transaction:
                    run(self.emit(hints), executor(connection))
                    connection.end(how)
            if not self._closed and self._log.wants_care(connection):
                self._log.care(connection)
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

    def take_away(self, connection: HeldConnection) -> None:
        """Roll back under a thread that is using the connection, and let the next one in.

        Read only comes first: what that thread still writes would commit by itself. Its statement, if one is under way,
        is waited for. The connection is not used again; whoever holds it closes it.
        """
        with contextlib.suppress(sqlite3.Error):  # a statement of the application ended it already
            connection.execute("pragma query_only = on")
            connection.end("rollback")
        connection.take_back()
        self._leave(connection)

    def close(self) -> None:
        """Let go of the connections. One that is still lent goes when its transaction ends."""
        self._closed = True
        self._log.close()
        while self._idle:
            self._idle.pop().close()

    def _turn_away(self, waiter: Waiter, lent: asyncio.Future[HeldConnection]) -> None:
        if not lent.done() and self.file.turnstile.step_out(waiter):
            lent.set_exception(self.file.blocked())

    def _lend_to(self, waiter: Waiter, lent: asyncio.Future[HeldConnection]) -> None:
        if waiter.begun:
            return
        waiter.begun = True
        waiter.admit = _admitted  # the line must not keep the future, and with it the connection, from being collected
        loop = lent.get_loop()
        try:
            connection = self._lend(waiter)
        except BaseException as error:
            self.file.turnstile.leave(waiter)
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits there any more
                loop.call_soon_threadsafe(_fail, lent, error)
            return
        # A loop that is closed forgets what it was told, and its tasks, where they stand.
        connection.dropped = partial(self.lane.submit, partial(self.file.turnstile.leave, waiter))
        try:
            loop.call_soon_threadsafe(self._hand_over, lent, connection)
        except RuntimeError:
            self._undo(connection)

    def _hand_over(self, lent: asyncio.Future[HeldConnection], connection: HeldConnection) -> None:
        if lent.done():
            self._take_back(connection)
        else:
            lent.set_result(connection)

    def _take_back(self, connection: HeldConnection) -> None:
        """Nobody waits for this connection any more."""
        self.lane.submit(lambda: self._undo(connection))

    def _undo(self, connection: HeldConnection) -> None:
        with contextlib.suppress(Exception):  # the connection is discarded then
            self.end(connection, "rollback")

    def _lend(self, waiter: Waiter) -> HeldConnection:
        """A connection in a new transaction. The waiter is inside; on any error the caller has it leave."""
        if self._closed:
            raise RuntimeError(f"{self.file.name} was closed while this transaction waited for its turn")
        with translated(self.file.name):
            connection = self._idle.pop() if self._idle else self.file.connect_as(HeldConnection)
            try:
                self.file.gate.begin(connection, self.file.timeout)
            except BaseException:
                connection.close()
                raise
        connection.waiter = waiter
        connection.lend()
        self.file.turnstile.in_transaction = True
        return connection

    def _leave(self, connection: HeldConnection) -> None:
        """Let the next one in, after the transaction on this connection."""
        waiter, connection.waiter = connection.waiter, None
        if waiter is not None:
            self.file.turnstile.in_transaction = False
            self.file.turnstile.leave(waiter)


class _Open:
    """What both kinds of transaction are made of."""

    def __init__(self, lender: Lender, connection: HeldConnection) -> None:
        self._lender = lender
        self._connection: HeldConnection | None = connection
        self._hints = Hints()
        self._ending = threading.Lock()

    def _perform(self, operation: Operation[R]) -> R:
        connection = self._connection
        if connection is None:
            raise RuntimeError(OVER)
        connection.check_open()
        execution = Execution(self._lender.clock())
        with translated(self._lender.file.name), connection.plain():
            answer = run(plan(operation, execution), executor(connection))
        gather(self._hints, execution.hints)
        return answer

    def _commit(self) -> None:
        connection = self._take()
        if connection is None:
            raise RuntimeError(OVER)
        self._lender.end(connection, "commit", self._hints)
        if self._hints:
            self._lender.send(self._hints)

    def _rollback(self) -> None:
        connection = self._take()
        if connection is not None:
            self._lender.end(connection, "rollback")

    def _take(self) -> HeldConnection | None:
        """Whoever gets the connection ends the transaction; it may be given up from another thread."""
        with self._ending:
            connection, self._connection = self._connection, None
        return connection


class SyncStoreTransaction(_Open):
    """A transaction for blocking code. `native` is the connection, for the application's own statements."""

    def __init__(self, lender: Lender, connection: HeldConnection) -> None:
        super().__init__(lender, connection)
        self.native: sqlite3.Connection = connection
        self._taken_away: HeldConnection | None = None

    def perform(self, operation: Operation[R], /) -> R:
        return self._perform(operation)

    def commit(self) -> None:
        self._commit()

    def rollback(self) -> None:
        """Undo it all. Of a transaction that is over, nothing is left to undo."""
        self._rollback()
        if self._taken_away is not None:
            self._taken_away.close()

    def abandon(self) -> None:
        """The file's lock is let go, and what is still written here is refused."""
        # In a thread of the store's, since it may have to wait for a statement.
        self._lender.threads.submit(self._abandon)

    def _abandon(self) -> None:
        with self._ending:
            connection, self._connection = self._connection, None
            if connection is not None:
                self._lender.take_away(connection)
                self._taken_away = connection


class StoreTransaction(_Open):
    """A transaction for async code. `native` is an aiosqlite connection.

    Everything in it is done one after the other, in the order in which it was asked for. So it ends behind the
    application's last statement, also one of a handler that was cancelled while it waited; what a handler left running
    asks for after that is refused.
    """

    def __init__(self, lender: Lender, connection: HeldConnection) -> None:
        super().__init__(lender, connection)
        self._line = Line(lender.lane)
        self.native: aiosqlite.Connection = facade(connection, self._line)

    async def perform(self, operation: Operation[R], /) -> R:
        if operation.verb in _BRIEF and self._line.is_empty:
            return self._perform(operation)
        return await self._line.finish(lambda: self._perform(operation))

    async def commit(self) -> None:
        await self._line.finish(self._commit)

    async def rollback(self) -> None:
        """Undo it all. Of a transaction that is over, nothing is left to undo."""
        await self._line.finish(self._rollback)

    def _take(self) -> HeldConnection | None:
        self._line.over = True
        return super()._take()


def _admitted() -> None:
    """The transaction has begun: nothing is left to do."""


def _fail(lent: asyncio.Future[HeldConnection], error: BaseException) -> None:
    if not lent.done():
        lent.set_exception(error)
