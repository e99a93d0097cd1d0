"""Connections of the store: one statement at a time, with a deadline. After an error a connection is not reused."""

from __future__ import annotations

import os
import time
import warnings
from typing import TypeVar

import psycopg

from holdfast.engine import generators
from holdfast.stores.postgres.address import PostgresAddress
from holdfast.stores.postgres.connection.connection_state import (
    BEGIN,
    BEGIN_LENT,
    ROLLBACK,
    ConnectionState,
    Sendable,
)
from holdfast.stores.postgres.connection.deadlines import deadlines
from holdfast.stores.postgres.connection.libpq import drive, drive_async
from holdfast.stores.postgres.connection.pool_queue import Entry
from holdfast.stores.postgres.connection.rendering import Renderer
from holdfast.stores.postgres.connection.socket_watch import SocketWatch, is_readable
from holdfast.stores.postgres.errors import DeadlinePassed
from holdfast.stores.postgres.plan import (
    Begin,
    Commit,
    Instruction,
    Pipeline,
    Plan,
    ReleaseSavepoint,
    Result,
    RollbackToSavepoint,
    Savepoint,
)

R = TypeVar("R")


class SyncConnection(ConnectionState):
    """A blocking connection."""

    def __init__(self, native: psycopg.Connection, address: PostgresAddress, render: Renderer) -> None:
        super().__init__(native, address, render)
        self.native = native
        self.entry: Entry | None = None
        """The entry in the queue of the pool, while a transaction uses the connection."""
        self.interrupted = False
        """True if the last statement did not end normally: the connection is not used again."""

    def run(self, plan: Plan[R]) -> R:
        """Run a plan and commit it."""
        self.start_clock()
        answer = generators.drive(plan, self.execute)
        self.commit()
        return answer

    def execute(self, instruction: Instruction, /) -> Result:
        match instruction:
            case Begin():
                self.begin()
            case Commit():
                self.commit()
            case RollbackToSavepoint():
                self.check_time()
                self.rollback()
                self.begin()
            case Savepoint() | ReleaseSavepoint():
                pass
            case Pipeline():
                result = self.send(instruction)
                self.in_transaction = instruction.leaves_open(self.in_transaction)
                return result
            case _:
                return self.send(instruction)
        return Result()

    def send(self, instruction: Sendable, /) -> Result:
        """Send statements to the server. This neither begins a transaction nor checks whether one is open."""
        descriptor = self.native.pgconn.socket
        until = time.monotonic() + self._deadline
        with self.native.lock:
            self.interrupted, passed = True, False
            try:
                try:
                    deadlines.watched[descriptor] = until
                    deadlines.ensure_running()
                    result = drive(self.conversation(instruction), self.native.pgconn)
                finally:
                    # The first call here is in C: a signal handler cannot raise an exception before it.
                    with deadlines.lock:
                        passed = deadlines.watched.pop(descriptor, None) is None
            except Exception as error:
                if passed:
                    raise DeadlinePassed(self._late) from error
                raise
            self.interrupted = False
        return result

    def begin(self) -> None:
        if not self.in_transaction:
            self.send(BEGIN)
            self.in_transaction = True

    def begin_lent(self) -> None:
        """Begin a transaction that the application may use."""
        ((self.transaction_id,),) = self.send(BEGIN_LENT)
        self.in_transaction = True

    def commit(self, *, checks: bool = False) -> None:
        if self.in_transaction:
            self.check_intact()
            try:
                self.send(self.committing(checks=checks))
            except psycopg.errors.DivisionByZero as error:
                raise self.explain(error) from error
            self.in_transaction = False

    def rollback(self) -> None:
        if self.in_transaction:
            self.send(ROLLBACK)
            self.in_transaction = False

    @property
    def alive(self) -> bool:
        return not self.native.closed and not is_readable(self.native.pgconn)

    def close(self) -> None:
        self.native.close()


class AsyncConnection(ConnectionState):
    """An async connection. Its watch is `exclusive` unless the application uses the connection next."""

    def __init__(
        self, native: psycopg.AsyncConnection, address: PostgresAddress, render: Renderer, *, exclusive: bool
    ) -> None:
        super().__init__(native, address, render)
        self.native = native
        self._process = os.getpid()
        self.watch = SocketWatch(native.pgconn.socket, native.pgconn.consume_input, exclusive=exclusive)

    async def run(self, plan: Plan[R]) -> R:
        """Run a plan and commit it."""
        self.start_clock()
        answer = await generators.drive_async(plan, self.execute)
        await self.commit()
        return answer

    async def execute(self, instruction: Instruction, /) -> Result:
        match instruction:
            case Begin():
                await self.begin()
            case Commit():
                await self.commit()
            case RollbackToSavepoint():
                self.check_time()
                await self.rollback()
                await self.begin()
            case Savepoint() | ReleaseSavepoint():
                pass
            case Pipeline():
                result = await self.send(instruction)
                self.in_transaction = instruction.leaves_open(self.in_transaction)
                return result
            case _:
                return await self.send(instruction)
        return Result()

    async def send(self, instruction: Sendable, /) -> Result:
        """Send statements to the server. This neither begins a transaction nor checks whether one is open."""
        descriptor = self.native.pgconn.socket
        async with self.native.lock:
            deadlines.watch(descriptor, self._deadline)
            try:
                result = await drive_async(self.conversation(instruction), self.watch)
            except BaseException as error:
                if deadlines.done(descriptor) and isinstance(error, Exception):
                    raise DeadlinePassed(self._late) from error
                raise
            deadlines.done(descriptor)
        return result

    async def begin(self) -> None:
        if not self.in_transaction:
            await self.send(BEGIN)
            self.in_transaction = True

    async def begin_lent(self) -> None:
        """Begin a transaction that the application may use."""
        self.watch.exclusive = False
        ((self.transaction_id,),) = await self.send(BEGIN_LENT)
        self.in_transaction = True

    async def commit(self, *, checks: bool = False) -> None:
        if self.in_transaction:
            self.check_intact()
            try:
                await self.send(self.committing(checks=checks))
            except psycopg.errors.DivisionByZero as error:
                raise self.explain(error) from error
            self.in_transaction = False

    async def rollback(self) -> None:
        if self.in_transaction:
            await self.send(ROLLBACK)
            self.in_transaction = False

    @property
    def alive(self) -> bool:
        return not self.native.closed and not is_readable(self.native.pgconn)

    def close(self) -> None:
        # Closing sends one message and does not wait for an answer.
        self.watch.end(self.native.pgconn.finish)

    def __del__(self) -> None:
        # The store was garbage-collected without close(). The event loop must stop watching the descriptor: the next
        # socket may get the same number. In a forked child the connection and the loop belong to the parent.
        if self._process == os.getpid() and not self.native.closed:
            self.close()
            warnings.warn("a PostgreSQL store was not closed", ResourceWarning, stacklevel=2, source=self)
