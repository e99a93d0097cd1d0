"""Transactions of the store, for the writes of an attempt or for a completion from outside."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import psycopg

from holdfast.engine.generators import drive, drive_async
from holdfast.engine.operations import Operation
from holdfast.engine.wakeups import Hints
from holdfast.stores.postgres.connection.connection import AsyncConnection, SyncConnection
from holdfast.stores.postgres.connection.deadlines import shut_down
from holdfast.stores.postgres.connection.lent_connection import (
    BUSY,
    AsyncLentConnection,
    LentConnection,
    lend,
    lend_async,
)
from holdfast.stores.postgres.connection.pool import AsyncPool, Pool
from holdfast.stores.postgres.errors import translated, translated_in_transaction
from holdfast.stores.postgres.plan import (
    Begin,
    Commit,
    Instruction,
    NotifyingStatement,
    Pipeline,
    ReleaseSavepoint,
    Result,
    RollbackToSavepoint,
    Savepoint,
    SavepointCommand,
)
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.verbs.plans import plan
from holdfast.stores.sql.plan import Many, Statement

R = TypeVar("R")

LOCK_SECONDS = 5.0
"""How long a transaction waits for a statement of the application in another thread or task. psycopg locks the
connection meanwhile. A COPY or a `stream()` that the application left open never releases the lock."""


class TransactionStore:
    """What a transaction needs of its store: names for errors, new contexts of plans, and a function to send hints."""

    def __init__(
        self, name: str, schema: str, new_context: Callable[[], PlanContext], send: Callable[[Hints], None]
    ) -> None:
        self.name = name
        self.schema = schema
        self.new_context = new_context
        self.send = send
        self.hints = Hints()
        """The hints that were collected. They are sent after the commit."""


class PostgresTransaction:
    """A transaction for async code. `native` is its psycopg connection."""

    def __init__(self, pool: AsyncPool, connection: AsyncConnection, store: TransactionStore) -> None:
        self.native: AsyncLentConnection = lend_async(connection.native)
        self.unawaited = self.native.lending.unawaited
        self._pool = pool
        self._connection: AsyncConnection | None = connection
        self._store = store
        self._busy = False

    async def perform(self, operation: Operation[R], /) -> R:
        connection, store = self._open(), self._store
        await self._check()
        connection.check_intact()
        context = store.new_context()
        try:
            answer = await drive_async(plan(context, operation), _within_async(connection))
        except Exception as error:
            shown = translated_in_transaction(error, store.name, store.schema, operation.verb)
            if shown is error:
                raise
            raise shown from error
        store.hints.add(context.hints)
        return answer

    async def commit(self) -> None:
        connection, self._connection = self._open(), None
        self.native.lending.over = True
        try:
            await self._check()
            await connection.commit(checks=self.native.lending.used)
        except BaseException as error:
            self._pool.discard(connection)
            self._store.send(self._store.hints)  # the server may have committed
            if isinstance(error, Exception):
                raise translated(error, self._store.name, self._store.schema) from error
            raise
        await self._pool.give_back(connection)
        self._store.send(self._store.hints)

    async def rollback(self) -> None:
        if self._connection is None:
            return
        connection, self._connection = self._connection, None
        self.native.lending.over = True
        # In these cases the state of the session is unknown. A new connection costs only a few milliseconds.
        if (
            self._busy
            or connection.native.info.transaction_status is not psycopg.pq.TransactionStatus.INTRANS
            or (self.native.lending.used and not await _is_released(self.native.lock))
        ):
            self._pool.discard(connection)
            return
        try:
            await self._pool.give_back(connection)
        except Exception as error:
            raise translated(error, self._store.name, self._store.schema) from error

    async def _check(self) -> None:
        """Raises RuntimeError if the application ended the transaction, or left a statement unfinished."""
        self.native.check_open()
        if self.native.lending.used:
            if not await _acquired(self.native.lock):
                self._busy = True
                raise RuntimeError(BUSY)
            try:
                self.native.check_idle()
            finally:
                self.native.lock.release()

    def _open(self) -> AsyncConnection:
        if self._connection is None:
            raise RuntimeError("this transaction has ended")
        return self._connection


class SyncPostgresTransaction:
    """A transaction for blocking code. `native` is its psycopg connection."""

    def __init__(self, pool: Pool, connection: SyncConnection, store: TransactionStore) -> None:
        self.native: LentConnection = lend(connection.native)
        self._pool = pool
        self._connection: SyncConnection | None = connection
        self._store = store
        self._busy = False
        self._ending = threading.Lock()
        self._cut = False

    def perform(self, operation: Operation[R], /) -> R:
        connection, store = self._open(), self._store
        self._check()
        connection.check_intact()
        context = store.new_context()
        try:
            answer = drive(plan(context, operation), _within(connection))
        except Exception as error:
            shown = translated_in_transaction(error, store.name, store.schema, operation.verb)
            if shown is error:
                raise
            raise shown from error
        store.hints.add(context.hints)
        return answer

    def commit(self) -> None:
        with self._ending:
            connection, self._connection = self._open(), None
        self.native.lending.over = True
        try:
            self._check()
            connection.commit(checks=self.native.lending.used)
        except BaseException as error:
            self._pool.discard(connection)
            self._store.send(self._store.hints)  # the server may have committed
            if isinstance(error, Exception):
                raise translated(error, self._store.name, self._store.schema) from error
            raise
        self._pool.give_back(connection)
        self._store.send(self._store.hints)

    def rollback(self) -> None:
        with self._ending:
            connection, self._connection = self._connection, None
        if connection is None:
            return
        self.native.lending.over = True
        if (
            self._cut
            or self._busy
            or connection.interrupted
            or connection.native.info.transaction_status is not psycopg.pq.TransactionStatus.INTRANS
            or (self.native.lending.used and not _is_released_sync(self.native.lock))
        ):
            self._pool.discard(connection)
            return
        try:
            self._pool.give_back(connection)
        except Exception as error:
            raise translated(error, self._store.name, self._store.schema) from error

    def abandon(self) -> None:
        """Shut the socket down, even if the thread uses it: the server rolls back and releases all locks."""
        with self._ending:  # so that the descriptor cannot belong to another connection already
            if self._connection is not None:
                self._cut = True
                shut_down(self._connection.native.pgconn.socket)

    def _check(self) -> None:
        """Raises RuntimeError if the application ended the transaction, or left a statement unfinished."""
        self.native.check_open()
        if self.native.lending.used:
            # No class in Python may wrap this lock: an exception of a signal handler could leave it locked.
            if not self.native.lock.acquire(timeout=LOCK_SECONDS):
                self._busy = True
                raise RuntimeError(BUSY)
            try:
                self.native.check_idle()
            finally:
                self.native.lock.release()

    def _open(self) -> SyncConnection:
        if self._connection is None:
            raise RuntimeError("this transaction has ended")
        return self._connection


async def _acquired(lock: asyncio.Lock) -> bool:
    try:
        async with asyncio.timeout(LOCK_SECONDS):
            return await lock.acquire()
    except TimeoutError:
        return False


async def _is_released(lock: asyncio.Lock) -> bool:
    """Whether no statement, COPY or stream of the application uses the connection, or it ends in time."""
    if acquired := await _acquired(lock):
        lock.release()
    return acquired


def _is_released_sync(lock: threading.Lock) -> bool:
    """The same for a blocking connection."""
    if acquired := lock.acquire(timeout=LOCK_SECONDS):
        lock.release()
    return acquired


def _within(connection: SyncConnection) -> Callable[[Instruction], Result]:
    """Executes instructions in the transaction that is already open."""
    connection.start_clock()

    def execute(instruction: Instruction) -> Result:
        match instruction:
            case Begin() | Commit():
                return Result()
            case Pipeline(steps):
                return Result([row for each in steps for row in execute(each)])
            case _:
                return connection.send(_statement(connection, instruction))

    return execute


def _within_async(connection: AsyncConnection) -> Callable[[Instruction], Awaitable[Result]]:
    connection.start_clock()

    async def execute(instruction: Instruction) -> Result:
        match instruction:
            case Begin() | Commit():
                return Result()
            case Pipeline(steps):
                return Result([row for each in steps for row in await execute(each)])
            case _:
                return await connection.send(_statement(connection, instruction))

    return execute


def _statement(
    connection: SyncConnection | AsyncConnection, instruction: Statement | Many | NotifyingStatement | SavepointCommand
) -> Statement | Many:
    """The statement of an instruction. A NOTIFY is not pipelined: hints are sent after the commit."""
    match instruction:
        case RollbackToSavepoint():
            connection.check_time()
            return Statement(instruction.sql)
        case Savepoint() | ReleaseSavepoint():
            return Statement(instruction.sql)
        case NotifyingStatement(statement):
            return statement
        case _:
            return instruction
