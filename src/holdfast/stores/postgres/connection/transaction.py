"""Transactions of the store, for the writes of an attempt or for a completion from outside."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
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
from holdfast.stores.postgres.connection.lent_plans import executed
from holdfast.stores.postgres.connection.pool import AsyncPool, Pool
from holdfast.stores.postgres.errors import translated, translated_in_transaction
from holdfast.stores.postgres.plan_context import PlanContext
from holdfast.stores.postgres.verbs.plans import plan
from holdfast.stores.sql.lent_transaction import may_commit

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

    def __init__(
        self, pool: AsyncPool, connection: AsyncConnection, store: TransactionStore, *, begun: bool = True
    ) -> None:
        self.native: AsyncLentConnection = lend_async(connection.native)
        self.unawaited = self.native.lending.unawaited
        self._pool = pool
        self._connection: AsyncConnection | None = connection
        self._store = store
        self._begun = begun
        self._busy = False

    async def perform(self, operation: Operation[R], /) -> R:
        connection, store = self._open(), self._store
        if self._begun:
            await self._check()
            connection.check_intact()
        begins, self._begun = not self._begun, True
        commits = may_commit(operation)
        if commits:
            self.native.lending.over = True
        connection.watch.exclusive = commits
        context = store.new_context()
        try:
            sending = executed(connection, plan(context, operation), begins=begins)
            answer = await drive_async(sending, connection.send)
        except BaseException as error:
            if commits:
                store.send(store.hints)  # the server may have committed
            if not isinstance(error, Exception):
                raise
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
            if connection.in_transaction:  # otherwise it was committed with its settlement, or never begun
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
            or not _is_in_order(connection.native, begun=self._begun)
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
            if self.native.lock.locked():
                if not await _acquired(self.native.lock):
                    self._busy = True
                    raise RuntimeError(BUSY)
                self.native.lock.release()
            self.native.check_idle()

    def _open(self) -> AsyncConnection:
        if self._connection is None:
            raise RuntimeError("this transaction has ended")
        return self._connection


class SyncPostgresTransaction:
    """A transaction for blocking code. `native` is its psycopg connection."""

    def __init__(self, pool: Pool, connection: SyncConnection, store: TransactionStore, *, begun: bool = True) -> None:
        self.native: LentConnection = lend(connection.native)
        self._pool = pool
        self._connection: SyncConnection | None = connection
        self._store = store
        self._begun = begun
        self._busy = False
        self._ending = threading.Lock()
        self._cut = False

    def perform(self, operation: Operation[R], /) -> R:
        connection, store = self._open(), self._store
        if self._begun:
            self._check()
            connection.check_intact()
        begins, self._begun = not self._begun, True
        commits = may_commit(operation)
        if commits:
            self.native.lending.over = True
        context = store.new_context()
        try:
            sending = executed(connection, plan(context, operation), begins=begins)
            answer = drive(sending, connection.send)
        except BaseException as error:
            if commits:
                store.send(store.hints)  # the server may have committed
            if not isinstance(error, Exception):
                raise
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
            if connection.in_transaction:  # otherwise it was committed with its settlement, or never begun
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
            or not _is_in_order(connection.native, begun=self._begun)
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


def _is_in_order(native: psycopg.Connection | psycopg.AsyncConnection, *, begun: bool) -> bool:
    """Whether the session is in its transaction, if it has begun, and the application left no pipeline open."""
    in_transaction = native.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS
    return native.pgconn.pipeline_status == psycopg.pq.PipelineStatus.OFF and (in_transaction or not begun)


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
