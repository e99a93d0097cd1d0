"""The Redis store: every verb one script, the same over blocking and async connections."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Never, TypeVar, cast
from weakref import WeakKeyDictionary

from holdfast.core.clock import Clock, Micros, system_clock
from holdfast.engine.operations import Finding, Operation
from holdfast.engine.store import Store
from holdfast.engine.wakeups import Wakeups
from holdfast.stores.buffered_transaction import DeferredSyncTransaction, DeferredTransaction
from holdfast.stores.redis import server_checks
from holdfast.stores.redis.address import read_address
from holdfast.stores.redis.connection.connection_pool import AsyncLinks, Links
from holdfast.stores.redis.connection.conversation import Dialect, Questions, Scripts
from holdfast.stores.redis.connection.node_locator import Route
from holdfast.stores.redis.keys import LAYOUT, Keys
from holdfast.stores.redis.verbs.examine import late_jobs
from holdfast.stores.redis.verbs.plans import VERBS
from holdfast.stores.redis.verbs.script_call import Call
from holdfast.stores.redis.wakeups.wakeups import RedisWakeups

R = TypeVar("R")

_LAYOUT_CALLS = (Call("layout", LAYOUT),)


class RedisStore(Store):
    """Jobs in Redis or Valkey. What a crash of the server can lose is up to how it is set: see `holdfast doctor`."""

    def __init__(self, address: str, *, clock: Clock | None = None, wakeups: Wakeups | None = None) -> None:
        self._address = read_address(address)
        self.name = self._address.shown
        self.clock = clock
        self._keys = Keys(self._address.namespace)
        self._dialect = Dialect()
        self._route = Route(self._address, self._keys.slot)
        self._own_wakeups = RedisWakeups(self._route, self._keys.channel, self._dialect)
        self.wakeups = self._own_wakeups if wakeups is None else wakeups
        self._opened = False
        self._closed = False
        self._links = Links(self._route)
        # Renewals have a connection to themselves: whatever else is going on, leases are kept.
        self._reserved = Links(self._route)
        self._async_links: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncLinks] = WeakKeyDictionary()

    async def open(self) -> None:
        if not self._opened:
            self._closed = False
            self._async_links.pop(asyncio.get_running_loop(), None)
            links = self._loop_links()
            self._meet(await links.talk(Questions(*server_checks.QUESTIONS)))
            self._move_in(await links.talk(self._scripts(_LAYOUT_CALLS, writes=False)))

    def open_sync(self) -> None:
        if not self._opened:
            self._meet(self._links.talk(Questions(*server_checks.QUESTIONS)))
            self._move_in(self._links.talk(self._scripts(_LAYOUT_CALLS, writes=False)))

    async def close(self) -> None:
        links = self._async_links.pop(asyncio.get_running_loop(), None)
        if links is not None:
            links.shut()
        await asyncio.to_thread(self.close_sync)

    def close_sync(self) -> None:
        self._opened, self._closed = False, True
        self._own_wakeups.close()
        self._links.close()
        self._reserved.close()

    async def perform(self, operation: Operation[R], /) -> R:
        links = self._loop_links()
        if operation.verb == "examine":
            return cast(R, [*self._findings(await links.talk(self._examination())), *await self._late()])
        asking = VERBS[operation.verb](operation)
        try:
            calls = next(asking)
            while True:
                try:
                    replies = await links.talk(self._scripts(calls, writes=operation.writes))
                except Exception as error:
                    calls = asking.throw(error)
                else:
                    calls = asking.send(replies)
        except StopIteration as end:
            return cast(R, end.value)

    def perform_sync(self, operation: Operation[R], /) -> R:
        links = self._reserved if operation.verb == "renew" else self._links
        if operation.verb == "examine":
            return cast(R, [*self._findings(links.talk(self._examination())), *self._late_sync()])
        asking = VERBS[operation.verb](operation)
        try:
            calls = next(asking)
            while True:
                try:
                    replies = links.talk(self._scripts(calls, writes=operation.writes))
                except Exception as error:
                    calls = asking.throw(error)
                else:
                    calls = asking.send(replies)
        except StopIteration as end:
            return cast(R, end.value)

    async def begin(self) -> DeferredTransaction:
        return DeferredTransaction(self)

    def begin_sync(self) -> DeferredSyncTransaction:
        return DeferredSyncTransaction(self)

    def join(self, tx: Any) -> Never:
        raise TypeError("the Redis store shares no transaction with the application; leave tx out")

    def join_sync(self, tx: Any) -> Never:
        raise TypeError("the Redis store shares no transaction with the application; leave tx out")

    async def migrate(self) -> list[str]:
        return []

    def migrate_sync(self) -> list[str]:
        return []

    def _scripts(self, calls: Iterable[Call], *, writes: bool) -> Scripts:
        return Scripts(
            calls,
            self._address,
            keys=self._keys,
            dialect=self._dialect,
            clock=self.clock,
            writes=writes,
        )

    def _loop_links(self) -> AsyncLinks:
        loop = asyncio.get_running_loop()
        links = self._async_links.get(loop)
        if links is None:
            links = self._async_links[loop] = AsyncLinks(self._route)
            if self._closed:  # a last word after the farewell: no connection is kept for another
                links.shut()
        return links

    def _meet(self, replies: list[Any]) -> None:
        server = server_checks.read_server(replies)
        if (refusal := server_checks.refusal(server, self._address)) is not None:
            raise refusal
        server_checks.announce(server, self._address)
        self._dialect.flagged, self._dialect.publish = server.dialect.flagged, server.dialect.publish

    def _move_in(self, replies: list[Any]) -> None:
        if (refusal := server_checks.layout_refusal(replies[0].decode(), self._address)) is not None:
            raise refusal
        self._opened, self._closed = True, False

    async def _late(self) -> list[Finding]:
        asking = late_jobs(self._now())
        operation = next(asking)
        try:
            while True:
                operation = asking.send(await self.perform(operation))
        except StopIteration as end:
            return cast("list[Finding]", end.value)

    def _late_sync(self) -> list[Finding]:
        asking = late_jobs(self._now())
        operation = next(asking)
        try:
            while True:
                operation = asking.send(self.perform_sync(operation))
        except StopIteration as end:
            return cast("list[Finding]", end.value)

    def _now(self) -> Micros:
        """Ours, unless a test has its own: to tell how long something has waited, it is near enough."""
        return (self.clock or system_clock)()

    def _examination(self) -> Questions:
        return Questions(*server_checks.QUESTIONS, ("HGET", self._keys.root, "layout"))

    def _findings(self, replies: list[Any]) -> list[Finding]:
        *replies, layout = replies
        found = server_checks.findings(server_checks.read_server(replies), self._address)
        return [*found, server_checks.layout_finding(layout, self._address)]
