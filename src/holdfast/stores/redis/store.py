"""The Redis store: each verb is one script, over blocking and async connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, Never, TypeVar, cast
from weakref import WeakKeyDictionary

from holdfast.core.clock import Clock, Micros, system_clock
from holdfast.engine.generators import drive, drive_async
from holdfast.engine.operations import Finding, Operation
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Wakeups
from holdfast.stores.buffered_transaction import BufferedSyncTransaction, BufferedTransaction
from holdfast.stores.redis import server_checks
from holdfast.stores.redis.address import read_address
from holdfast.stores.redis.connection.connection_pool import AsyncConnectionPool, ConnectionPool
from holdfast.stores.redis.connection.conversation import (
    CommandConversation,
    ScriptConversation,
    ScriptSettings,
    ServerFeatures,
)
from holdfast.stores.redis.connection.node_locator import NodeLocator
from holdfast.stores.redis.keys import LAYOUT, Keys
from holdfast.stores.redis.verbs.examine import late_jobs
from holdfast.stores.redis.verbs.plans import VERBS
from holdfast.stores.redis.verbs.script_call import ScriptCall
from holdfast.stores.redis.wakeups.wakeups import RedisWakeups

R = TypeVar("R")

_LAYOUT_CALLS = (ScriptCall("layout", LAYOUT),)


class RedisStore(Store):
    """Jobs in Redis or Valkey. What a crash of the server can lose depends on its settings: see `holdfast doctor`."""

    def __init__(self, address: str, *, clock: Clock | None = None, wakeups: Wakeups | None = None) -> None:
        self._address = read_address(address)
        self.name = self._address.shown
        self.clock = clock
        self._keys = Keys(self._address.namespace)
        self._features = ServerFeatures()
        self._script_settings = ScriptSettings(self._address, self._keys, self._features)
        self._locator = NodeLocator(self._address, self._keys.slot)
        self._own_wakeups = RedisWakeups(self._locator, self._keys.channel, self._features)
        self.wakeups = self._own_wakeups if wakeups is None else wakeups
        self._opened = False
        self._closed = False
        self._pool = ConnectionPool(self._locator)
        # Renewals have their own connections, so that other calls cannot delay them until leases end.
        self._reserved_pool = ConnectionPool(self._locator)
        self._async_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncConnectionPool] = WeakKeyDictionary()

    async def open(self) -> None:
        if not self._opened:
            self._closed = False
            if (earlier := self._async_pools.pop(asyncio.get_running_loop(), None)) is not None:
                earlier.shut()
            pool = self._loop_pool()
            try:
                self._check_server(await pool.run(CommandConversation(*server_checks.INSPECTION)))
                self._check_layout(await pool.run(self._scripts(_LAYOUT_CALLS, writes=False)))
            except BaseException:
                pool.close()
                raise

    def open_sync(self) -> None:
        if not self._opened:
            try:
                self._check_server(self._pool.run(CommandConversation(*server_checks.INSPECTION)))
                self._check_layout(self._pool.run(self._scripts(_LAYOUT_CALLS, writes=False)))
            except BaseException:
                self._pool.close()
                raise

    async def close(self) -> None:
        pool = self._async_pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            pool.shut()
        await asyncio.to_thread(self.close_sync)

    def close_sync(self) -> None:
        self._opened, self._closed = False, True
        self._own_wakeups.close()
        self._pool.shut()
        self._reserved_pool.shut()

    async def perform(self, operation: Operation[R], /) -> R:
        pool = self._loop_pool()
        if operation.verb == "examine":
            return cast(R, [*self._findings(await pool.run(self._examination())), *await self._late()])

        def send(calls: Iterable[ScriptCall]) -> Awaitable[list[Any]]:
            return pool.run(self._scripts(calls, writes=operation.writes))

        return cast(R, await drive_async(VERBS[operation.verb](operation), send))

    def perform_sync(self, operation: Operation[R], /) -> R:
        pool = self._reserved_pool if operation.reserved else self._pool
        if operation.verb == "examine":
            return cast(R, [*self._findings(pool.run(self._examination())), *self._late_sync()])

        def send(calls: Iterable[ScriptCall]) -> list[Any]:
            return pool.run(self._scripts(calls, writes=operation.writes))

        return cast(R, drive(VERBS[operation.verb](operation), send))

    async def begin(self) -> BufferedTransaction:
        return BufferedTransaction(self)

    def begin_sync(self) -> BufferedSyncTransaction:
        return BufferedSyncTransaction(self)

    def join(self, tx: Any) -> Never:
        raise TypeError("the Redis store shares no transaction with the application; leave tx out")

    def join_sync(self, tx: Any) -> Never:
        raise TypeError("the Redis store shares no transaction with the application; leave tx out")

    async def migrate(self) -> list[str]:
        return []

    def migrate_sync(self) -> list[str]:
        return []

    def _scripts(self, calls: Iterable[ScriptCall], *, writes: bool) -> ScriptConversation:
        return ScriptConversation(calls, self._script_settings, self.clock, writes=writes)

    def _loop_pool(self) -> AsyncConnectionPool:
        loop = asyncio.get_running_loop()
        pool = self._async_pools.get(loop)
        if pool is None:
            pool = self._async_pools[loop] = AsyncConnectionPool(self._locator)
            if self._closed:  # used after close: do not keep the connection for another call
                pool.shut()
        return pool

    def _check_server(self, replies: list[Any]) -> None:
        server = server_checks.read_server(replies)
        if (refusal := server_checks.refusal(server, self._address)) is not None:
            raise refusal
        server_checks.announce(server, self._address)
        self._features.script_flags, self._features.publish = server.features.script_flags, server.features.publish

    def _check_layout(self, replies: list[Any]) -> None:
        if (refusal := server_checks.layout_refusal(replies[0].decode(), self._address)) is not None:
            raise refusal
        self._opened, self._closed = True, False
        self._pool.reopen()
        self._reserved_pool.reopen()

    async def _late(self) -> list[Finding]:
        return await drive_async(late_jobs(self._now()), self.perform)

    def _late_sync(self) -> list[Finding]:
        return drive(late_jobs(self._now()), self.perform_sync)

    def _now(self) -> Micros:
        """This process's clock, unless a test sets one. It is exact enough for the age of a late job."""
        return (self.clock or system_clock)()

    def _examination(self) -> CommandConversation:
        return CommandConversation(*server_checks.INSPECTION, ("HGET", self._keys.root, "layout"))

    def _findings(self, replies: list[Any]) -> list[Finding]:
        *replies, layout = replies
        found = server_checks.findings(server_checks.read_server(replies), self._address)
        return [*found, server_checks.layout_finding(layout, self._address)]
