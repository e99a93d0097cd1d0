"""Pools of connections. A connection is not reused after an error, or after its task was cancelled."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Final, TypeVar

from holdfast.errors import HoldfastError
from holdfast.stores.postgres.connection.connect import AsyncConnect, Connect
from holdfast.stores.postgres.connection.connection import AsyncConnection, SyncConnection
from holdfast.stores.postgres.connection.pool_queue import Entry, PoolQueue
from holdfast.stores.postgres.errors import NoConnection
from holdfast.stores.postgres.plan import Plan

R = TypeVar("R")
L = TypeVar("L", SyncConnection, AsyncConnection)

IDLE: Final = 60.0
"""Seconds after which an unused connection is closed, so that the connections of a peak load are not kept."""

_BUSY = "all {size} connections are busy; give the address a larger pool="


class Pool:
    """Blocking connections, shared by threads. A signal handler may raise an exception at any point of any call."""

    def __init__(self, connect: Connect, size: int, timeout: float) -> None:
        self._connect = connect
        self._size = size
        self._timeout = timeout
        self._queue = PoolQueue(size)
        self._idle: list[SyncConnection] = []
        self._closed = False

    def run(self, plan: Plan[R]) -> R:
        """Run a plan on a free connection and commit it. An unfinished plan is rolled back."""
        entry = Entry()
        try:
            return self._run(plan, entry)
        finally:
            self._queue.entries.pop(entry, None)
            self._queue.wake()

    def _run(self, plan: Plan[R], entry: Entry) -> R:
        connection = self._take(entry)
        try:
            answer = connection.run(plan)
        except HoldfastError:
            # Raised by the plan itself, so the connection is intact.
            self._rest(connection)
            raise
        except BaseException:
            # A statement may be unfinished. This is one C call, which no signal handler can interrupt.
            connection.native.pgconn.finish()
            raise
        self._rest(connection)
        return answer

    def take(self) -> SyncConnection:
        """A connection for a transaction. The caller gives it back or discards it."""
        entry = Entry()
        try:
            connection = self._take(entry)
        except BaseException:
            self._queue.leave(entry)
            raise
        connection.entry = entry
        return connection

    def give_back(self, connection: SyncConnection) -> None:
        try:
            self._rest(connection)
        finally:
            self._leave(connection)

    def discard(self, connection: SyncConnection) -> None:
        connection.close()
        self._leave(connection)

    def close(self) -> None:
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _take(self, entry: Entry) -> SyncConnection:
        if not self._queue.enter(entry, self._timeout):
            raise NoConnection(_BUSY.format(size=self._size))
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if connection.alive:
                return connection
            connection.close()
        return self._connect()

    def _rest(self, connection: SyncConnection) -> None:
        try:
            connection.rollback()
        except BaseException:
            connection.native.pgconn.finish()
            raise
        _keep(self._idle, connection)
        if self._closed:  # checked last: another thread may close the pool at this moment
            self.close()

    def _leave(self, connection: SyncConnection) -> None:
        entry, connection.entry = connection.entry, None
        if entry is not None:
            self._queue.leave(entry)


class AsyncPool:
    """Async connections, shared by the tasks of one event loop."""

    def __init__(self, connect: AsyncConnect, size: int, timeout: float) -> None:
        self._connect = connect
        self._size = size
        self._timeout = timeout
        self._semaphore = asyncio.Semaphore(size)
        self._idle: list[AsyncConnection] = []
        self._closed = False

    async def run(self, plan: Plan[R]) -> R:
        """Run a plan on a free connection and commit it. An unfinished plan is rolled back."""
        connection = await self.take()
        try:
            answer = await connection.run(plan)
        except HoldfastError:
            await self.give_back(connection)
            raise
        except BaseException:
            self.discard(connection)
            raise
        await self.give_back(connection)
        return answer

    async def take(self) -> AsyncConnection:
        if self._semaphore.locked():
            try:
                await asyncio.wait_for(self._semaphore.acquire(), self._timeout)
            except TimeoutError:
                raise NoConnection(_BUSY.format(size=self._size)) from None
        else:
            await self._semaphore.acquire()
        try:
            while self._idle:
                connection = self._idle.pop()
                if connection.alive:
                    return connection
                connection.close()
            return await self._connect()
        except BaseException:
            self._semaphore.release()
            raise

    async def give_back(self, connection: AsyncConnection) -> None:
        try:
            await connection.rollback()
        except BaseException:
            self.discard(connection)
            raise
        _keep(self._idle, connection)
        if self._closed:  # checked last: another thread may close the pool at this moment
            self.close()
        self._semaphore.release()

    def discard(self, connection: AsyncConnection) -> None:
        connection.close()
        self._semaphore.release()

    def close(self) -> None:
        self._closed = True
        with suppress(IndexError):
            while True:
                self._idle.pop().close()


def _keep(idle: list[L], connection: L) -> None:
    """Keep a connection for later use. Close the one that was unused for the longest time, if that exceeds `IDLE`."""
    connection.idle_since = now = time.monotonic()
    idle.append(connection)
    with suppress(IndexError):  # other threads take from the list, too; a connection closed too early is opened again
        if now - idle[0].idle_since > IDLE:
            idle.pop(0).close()
