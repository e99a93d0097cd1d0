"""Transactions of our own, for an attempt's writes or a completion from outside."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import psycopg

from holdfast.engine.operations import Operation
from holdfast.engine.wakeups import Hints
from holdfast.stores.postgres.connection.connection import AsyncLink, Link
from holdfast.stores.postgres.connection.deadlines import shut_down
from holdfast.stores.postgres.connection.lent_connection import AsyncLentConnection, LentConnection, lend, lend_async
from holdfast.stores.postgres.connection.pool import AsyncPool, Pool
from holdfast.stores.postgres.errors import is_outage, translated
from holdfast.stores.postgres.execution import BEGIN, COMMIT, LET_GO, Turn
from holdfast.stores.postgres.verbs.plans import plan
from holdfast.stores.sql.plan import Many, Row, Statement, gather, run, run_async

R = TypeVar("R")


class Telling:
    """What the transaction tells others once it has committed."""

    def __init__(self, name: str, schema: str, turn: Callable[[], Turn], send: Callable[[Hints], None]) -> None:
        self.name = name
        self.schema = schema
        self.turn = turn
        self.send = send
        self.hints = Hints()


class PostgresTransaction:
    """A transaction for async code. `native` is its psycopg connection."""

    def __init__(self, pool: AsyncPool, link: AsyncLink, telling: Telling) -> None:
        self.native: AsyncLentConnection = lend_async(link.connection)
        self._pool = pool
        self._link: AsyncLink | None = link
        self._telling = telling

    async def perform(self, operation: Operation[R], /) -> R:
        link, telling = self._open(), self._telling
        self.native.lending.check()
        link.check_intact()
        turn = telling.turn()
        try:
            answer = await run_async(plan(turn, operation), _within_async(link))
        except Exception as error:
            if is_outage(error):
                raise translated(error, telling.name, telling.schema, operation.verb) from error
            raise
        gather(telling.hints, turn.hints)
        return answer

    async def commit(self) -> None:
        link, self._link = self._open(), None
        self.native.lending.over = True
        try:
            self.native.lending.check()
            await link.commit(checks=self.native.lending.used)
        except BaseException as error:
            self._pool.discard(link)
            self._telling.send(self._telling.hints)  # it may have committed all the same
            if isinstance(error, Exception):
                raise translated(error, self._telling.name, self._telling.schema) from error
            raise
        await self._pool.give_back(link)
        self._telling.send(self._telling.hints)

    async def rollback(self) -> None:
        if self._link is None:
            return
        link, self._link = self._link, None
        self.native.lending.over = True
        # What happened to the session meanwhile nobody knows; a new one costs a few milliseconds.
        if link.connection.info.transaction_status is not psycopg.pq.TransactionStatus.INTRANS:
            self._pool.discard(link)
            return
        try:
            await self._pool.give_back(link)
        except Exception as error:
            raise translated(error, self._telling.name, self._telling.schema) from error

    def _open(self) -> AsyncLink:
        if self._link is None:
            raise RuntimeError("this transaction has ended")
        return self._link


class SyncPostgresTransaction:
    """A transaction for blocking code. `native` is its psycopg connection."""

    def __init__(self, pool: Pool, link: Link, telling: Telling) -> None:
        self.native: LentConnection = lend(link.connection)
        self._pool = pool
        self._link: Link | None = link
        self._telling = telling
        self._ending = threading.Lock()
        self._cut = False

    def perform(self, operation: Operation[R], /) -> R:
        link, telling = self._open(), self._telling
        self.native.lending.check()
        link.check_intact()
        turn = telling.turn()
        try:
            answer = run(plan(turn, operation), _within(link))
        except Exception as error:
            if is_outage(error):
                raise translated(error, telling.name, telling.schema, operation.verb) from error
            raise
        gather(telling.hints, turn.hints)
        return answer

    def commit(self) -> None:
        with self._ending:
            link, self._link = self._open(), None
        self.native.lending.over = True
        try:
            self.native.lending.check()
            link.commit(checks=self.native.lending.used)
        except BaseException as error:
            self._pool.discard(link)
            self._telling.send(self._telling.hints)  # it may have committed all the same
            if isinstance(error, Exception):
                raise translated(error, self._telling.name, self._telling.schema) from error
            raise
        self._pool.give_back(link)
        self._telling.send(self._telling.hints)

    def rollback(self) -> None:
        with self._ending:
            link, self._link = self._link, None
        if link is None:
            return
        self.native.lending.over = True
        if (
            self._cut
            or link.torn
            or link.connection.info.transaction_status is not psycopg.pq.TransactionStatus.INTRANS
        ):
            self._pool.discard(link)
            return
        try:
            self._pool.give_back(link)
        except Exception as error:
            raise translated(error, self._telling.name, self._telling.schema) from error

    def abandon(self) -> None:
        """The socket is shut down: whatever its thread is doing, the server rolls back and lets every lock go."""
        with self._ending:  # its number is not another connection's yet
            if self._link is not None:
                self._cut = True
                shut_down(self._link.connection.pgconn.socket)

    def _open(self) -> Link:
        if self._link is None:
            raise RuntimeError("this transaction has ended")
        return self._link


def _within(link: Link) -> Callable[[Statement | Many], list[Row]]:
    """Runs statements in the transaction that is open, which no plan begins or commits."""

    link.start_clock()

    def execute(step: Statement | Many) -> list[Row]:
        if step is LET_GO:
            link.check_time()
        return [] if step is BEGIN or step is COMMIT else link.send(step)

    return execute


def _within_async(link: AsyncLink) -> Callable[[Statement | Many], Awaitable[list[Row]]]:
    link.start_clock()

    async def execute(step: Statement | Many) -> list[Row]:
        if step is LET_GO:
            link.check_time()
        return [] if step is BEGIN or step is COMMIT else await link.send(step)

    return execute
