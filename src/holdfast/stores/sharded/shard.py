"""One shard: a store with a name, which knows what belongs on it and whether it answers."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from holdfast.core.clock import Clock
from holdfast.engine.operations import NextDue, Operation
from holdfast.engine.store import AppTransaction, Store, SyncAppTransaction, SyncTransaction, Transaction
from holdfast.engine.wakeups import Wakeups
from holdfast.errors import StoreUnavailable
from holdfast.stores.sharded.health import Health
from holdfast.stores.sharded.ownership import owned
from holdfast.stores.sharded.routing import Routing
from holdfast.stores.sharded.shard_transactions import (
    ShardAppTransaction,
    ShardSyncAppTransaction,
    ShardSyncTransaction,
    ShardTransaction,
)

R = TypeVar("R")

PROBE = NextDue(())
"""An operation that costs little, to find out whether a shard answers."""


class Shard(Store):
    """A store among others. It is opened again by the first operation after an outage at the start.

    The details of jobs that it creates contain its name. It refuses jobs and ids that belong on another shard.
    """

    def __init__(self, shard: str, store: Store, routing: Routing, *, lent: bool = False) -> None:
        self.shard = shard
        self.store = store
        self.name = f"{shard}={store.name}"
        self.health = Health(shard)
        self._routing = routing
        self._opened = False
        self._lent = lent

    @property
    def wakeups(self) -> Wakeups:  # type: ignore[override]
        return self.store.wakeups

    @property
    def clock(self) -> Clock | None:
        return self.store.clock

    @clock.setter
    def clock(self, clock: Clock | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride] - it has a setter
        self.store.clock = clock

    def owns(self, schedule: str, /) -> bool:
        return self._routing.of_schedule(schedule) == self.shard

    def check_open(self) -> None:
        if self._opened or self.health.up:
            self.store.check_open()

    async def open(self) -> None:
        with self._noted():
            await self.store.open()
        self._opened = True

    def open_sync(self) -> None:
        with self._noted():
            self.store.open_sync()
        self._opened = True

    async def close(self) -> None:
        self._opened = False
        self.health.close()
        if not self._lent:
            await self.store.close()

    def close_sync(self) -> None:
        self._opened = False
        if not self._lent:
            self.store.close_sync()

    async def perform(self, operation: Operation[R], /) -> R:
        operation = owned(self._routing, self.shard, operation)
        with self._noted():
            if not self._opened:
                await self._reopen()
            return await self.store.perform(operation)

    def perform_sync(self, operation: Operation[R], /) -> R:
        operation = owned(self._routing, self.shard, operation)
        with self._noted():
            if not self._opened:
                self._reopen_sync()
            return self.store.perform_sync(operation)

    async def probe(self) -> None:
        """Ask whether the shard answers."""
        await self.perform(PROBE)

    async def begin(self) -> Transaction:
        with self._noted():
            return ShardTransaction(await self.store.begin(), self._routing, self.shard)

    def begin_sync(self) -> SyncTransaction:
        with self._noted():
            return ShardSyncTransaction(self.store.begin_sync(), self._routing, self.shard)

    def join(self, tx: Any) -> AppTransaction:
        return ShardAppTransaction(self.store.join(tx), self._routing, self.shard)

    def join_sync(self, tx: Any) -> SyncAppTransaction:
        return ShardSyncAppTransaction(self.store.join_sync(tx), self._routing, self.shard)

    async def migrate(self) -> list[str]:
        return [f"{self.shard}: {name}" for name in await self.store.migrate()]

    def migrate_sync(self) -> list[str]:
        return [f"{self.shard}: {name}" for name in self.store.migrate_sync()]

    def pending_migrations(self) -> list[str]:
        return [f"{self.shard}: {name}" for name in self.store.pending_migrations()]

    def migration_script(self) -> str | None:
        return self.store.migration_script()

    async def _reopen(self) -> None:
        """Connect if the shard was down when the store was opened. If it was never opened, it raises its own error."""
        if not self.health.up:
            await self.store.open()
            self._opened = True

    def _reopen_sync(self) -> None:
        if not self.health.up:
            self.store.open_sync()
            self._opened = True

    @contextmanager
    def _noted(self) -> Generator[None]:
        """Note whether the store answered. A refusal is an answer."""
        try:
            yield
        except StoreUnavailable as error:
            self.health.failed(error)
            raise
        self.health.answered()
