"""Connection pools, one blocking and one async, that run a conversation over a connection."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Any, Generic, TypeVar

from holdfast.stores.redis.connection.async_connection import AsyncConnection, connect
from holdfast.stores.redis.connection.conversation import CONNECTION_ERRORS, Conversation
from holdfast.stores.redis.connection.node_locator import NodeLocator
from holdfast.stores.redis.connection.retrying import Evaluation, RetryDeadline
from holdfast.stores.redis.connection.sync_connection import SyncConnection

C = TypeVar("C")

MAX_IDLE = 16
"""Idle blocking connections that are kept open."""
MAX_CONNECTIONS = 64
"""Async connections per event loop. More tasks than this wait for a free connection: one connection per task could
exhaust the process's file descriptors or the server's `maxclients`, and connecting takes longer than a short wait."""


class _Pool(Generic[C]):
    """What both pools do with a connection after a conversation."""

    def close(self) -> None:
        """Close the idle connections."""
        raise NotImplementedError

    def _give_back(self, connection: C) -> None:
        raise NotImplementedError

    def _drop(self, connection: C | None) -> None:
        raise NotImplementedError

    def _evaluated(
        self, connection: C, retries: RetryDeadline, conversation: Conversation, replies: list[Any]
    ) -> Evaluation:
        """Decide what the replies mean. The connection is given back, or dropped with all idle ones."""
        try:
            evaluation = retries.evaluate(conversation, replies)
        except BaseException:
            self._give_back(connection)
            raise
        if evaluation.keep_connection:
            self._give_back(connection)
        else:
            self._drop(connection)
            self.close()
        return evaluation

    def _lost(self, connection: C | None, retries: RetryDeadline, error: Exception) -> float:
        """Drop a connection that failed, with all idle ones. Returns how long to wait before the next one."""
        self._drop(connection)
        self.close()
        return retries.connection_lost(error, connected=connection is not None)


class ConnectionPool(_Pool[SyncConnection]):
    """Blocking connections. Any number of threads may use the pool at once, each over its own connection."""

    def __init__(self, locator: NodeLocator) -> None:
        self._locator = locator
        self._lock = threading.Lock()
        self._idle: list[SyncConnection] = []
        self._shut = False
        self._forks = _forks

    def run(self, conversation: Conversation) -> list[Any]:
        """Run a conversation within the timeout of the address. Raises StoreUnavailable."""
        if self._forks != _forks:
            self._forget_parent()
        retries = RetryDeadline(self._locator)
        while True:
            connection: SyncConnection | None = None
            try:
                connection = self._take(retries)
                replies = connection.exchange(conversation.commands(), retries.left)
            except CONNECTION_ERRORS as error:
                time.sleep(self._lost(connection, retries, error))
                continue
            except BaseException:
                self._drop(connection)
                raise
            evaluation = self._evaluated(connection, retries, conversation, replies)
            if evaluation.done:
                return conversation.replies
            if evaluation.pause:
                time.sleep(retries.pause(evaluation.error))

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def shut(self) -> None:
        """Close the idle connections now, and those in use when they are given back."""
        self._shut = True
        self.close()

    def reopen(self) -> None:
        """Keep connections for later calls again."""
        self._shut = False

    def _take(self, retries: RetryDeadline) -> SyncConnection:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._locator.connect(retries.left)

    def _give_back(self, connection: SyncConnection) -> None:
        with self._lock:
            if len(self._idle) < MAX_IDLE and not self._shut:
                self._idle.append(connection)
                return
        connection.close()

    def _forget_parent(self) -> None:
        # A forked child has copies of its parent's sockets: each process would read replies of the other.
        # A new lock: another thread of the parent may have held it at the fork.
        self._lock, self._forks = threading.Lock(), _forks
        self.close()

    def _drop(self, connection: SyncConnection | None) -> None:
        if connection is not None:
            connection.close()


class AsyncConnectionPool(_Pool[AsyncConnection]):
    """The async connections of one event loop. Tasks wait for a free connection if all are in use."""

    def __init__(self, locator: NodeLocator) -> None:
        self._locator = locator
        self._idle: list[AsyncConnection] = []
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)
        self._shut = False

    async def run(self, conversation: Conversation) -> list[Any]:
        """Run a conversation within the timeout of the address. Raises StoreUnavailable."""
        retries = RetryDeadline(self._locator)
        while True:
            connection: AsyncConnection | None = None
            try:
                connection = await self._take(retries)
                replies = await connection.exchange(conversation.commands(), retries.left)
            except CONNECTION_ERRORS as error:
                await asyncio.sleep(self._lost(connection, retries, error))
                continue
            except BaseException:
                # The reply of a cancelled task may still arrive. Another task must not read it.
                self._drop(connection)
                raise
            evaluation = self._evaluated(connection, retries, conversation, replies)
            if evaluation.done:
                return conversation.replies
            if evaluation.pause:
                await asyncio.sleep(retries.pause(evaluation.error))

    def close(self) -> None:
        """Close the idle connections."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def shut(self) -> None:
        """Close the idle connections now, and those in use when they are given back."""
        self._shut = True
        self.close()

    async def _take(self, retries: RetryDeadline) -> AsyncConnection:
        """A connection. It counts as in use until it is given back or dropped."""
        if self._free.locked():
            try:
                async with asyncio.timeout(retries.left):
                    await self._free.acquire()
            except TimeoutError:
                raise TimeoutError(f"no connection became free in time: {MAX_CONNECTIONS} are in use") from None
        else:
            await self._free.acquire()
        try:
            return self._idle.pop() if self._idle else await self._connect(retries)
        except BaseException:
            self._free.release()
            raise

    async def _connect(self, retries: RetryDeadline) -> AsyncConnection:
        if not self._locator.is_known:
            await asyncio.to_thread(self._locator.find, retries.left)
        return await connect(self._locator.address, self._locator.node, retries.left)

    def _give_back(self, connection: AsyncConnection) -> None:
        if connection.is_open and not self._shut:
            self._idle.append(connection)
        else:
            connection.close()
        self._free.release()

    def _drop(self, connection: AsyncConnection | None) -> None:
        if connection is not None:
            connection.close()
            self._free.release()


_forks = 0
"""Number of forks up to this process. A counter, because os.getpid() would be a system call for every request."""


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)
