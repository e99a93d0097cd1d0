"""One transaction of the store, for blocking code and for async code."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeVar

from holdfast.engine.generators import drive
from holdfast.engine.operations import Guard, Operation, Settle
from holdfast.engine.wakeups import Hints
from holdfast.stores.sql.lent_transaction import OVER
from holdfast.stores.sql.plan import PlanContext
from holdfast.stores.sqlite.connection.async_connection import AsyncConnection, RequestQueue
from holdfast.stores.sqlite.connection.execute import executor
from holdfast.stores.sqlite.errors import translated
from holdfast.stores.sqlite.verbs.plans import plan

if TYPE_CHECKING:
    from holdfast.stores.sqlite.connection.lent_connection import LentConnection
    from holdfast.stores.sqlite.connection.transactions import Transactions

R = TypeVar("R")

_BRIEF = frozenset({Guard.verb, Settle.verb})
"""Verbs that async code performs in the thread of the event loop, because a request to another thread takes as long.

They wait for no lock: the transaction has the write lock. They do not wait for the disk: the job was claimed a moment
ago, and the commit comes later.
"""


_PLAIN = nullcontext()


class _OpenTransaction:
    """The part that blocking and async transactions share."""

    def __init__(self, transactions: Transactions, connection: LentConnection) -> None:
        self._transactions = transactions
        self._connection: LentConnection | None = connection
        self._hints = Hints()
        self._ending = threading.Lock()

    def _perform(self, operation: Operation[R]) -> R:
        connection = self._connection
        if connection is None:
            raise RuntimeError(OVER)
        connection.check_open()
        context = PlanContext(self._transactions.clock())
        with translated(self._transactions.file.name), _PLAIN if connection.text_factory is str else connection.plain():
            result = drive(plan(operation, context), executor(connection))
        self._hints.add(context.hints)
        return result

    def _commit(self) -> None:
        connection = self._take()
        if connection is None:
            raise RuntimeError(OVER)
        self._transactions.end(connection, "commit", self._hints)
        if self._hints:
            self._transactions.send(self._hints)

    def _rollback(self) -> None:
        connection = self._take()
        if connection is not None:
            self._transactions.end(connection, "rollback")

    def _take(self) -> LentConnection | None:
        """The connection for the caller that ends the transaction; None for every later caller.

        Two threads may try to end it: another thread may abandon the transaction.
        """
        with self._ending:
            connection, self._connection = self._connection, None
        return connection


class SyncStoreTransaction(_OpenTransaction):
    """A transaction for blocking code. `native` is the connection, for the application's own statements."""

    def __init__(self, transactions: Transactions, connection: LentConnection) -> None:
        super().__init__(transactions, connection)
        self.native: sqlite3.Connection = connection
        self._abandoned: LentConnection | None = None

    def perform(self, operation: Operation[R], /) -> R:
        return self._perform(operation)

    def commit(self) -> None:
        self._commit()

    def rollback(self) -> None:
        """Roll back. Does nothing after the end of the transaction."""
        self._rollback()
        if self._abandoned is not None:
            self._abandoned.close()

    def abandon(self) -> None:
        """Release the write lock of the file. Later writes on this connection are refused."""
        # In a thread of the store, because it may have to wait for a statement.
        self._transactions.threads.submit(self._abandon)

    def _abandon(self) -> None:
        with self._ending:
            connection, self._connection = self._connection, None
            if connection is not None:
                self._transactions.take_away(connection)
                self._abandoned = connection


class StoreTransaction(_OpenTransaction):
    """A transaction for async code. `native` is the connection, with an interface like that of aiosqlite.

    All requests run in the order in which they were made. The transaction therefore ends after the application's last
    statement, even if the task that requested it was cancelled. Later statements are refused.
    """

    def __init__(self, transactions: Transactions, connection: LentConnection) -> None:
        super().__init__(transactions, connection)
        self._requests = RequestQueue(transactions.transaction_thread)
        self.native = AsyncConnection(connection, self._requests)
        self.unawaited = connection.guard.unawaited

    async def perform(self, operation: Operation[R], /) -> R:
        if operation.verb in _BRIEF and self._requests.is_empty:
            return self._perform(operation)
        return await self._requests.finish(lambda: self._perform(operation))

    async def commit(self) -> None:
        await self._requests.finish(self._commit)

    async def rollback(self) -> None:
        """Roll back. Does nothing after the end of the transaction."""
        await self._requests.finish(self._rollback)

    def _take(self) -> LentConnection | None:
        self._requests.over = True
        return super()._take()
