"""The sharded store: performs each operation on the shard that it concerns, or on all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, cast

from holdfast.core.clock import Clock
from holdfast.engine.generators import drive, drive_async
from holdfast.engine.operations import Operation
from holdfast.engine.store import AppTransaction, Store, SyncAppTransaction, SyncTransaction, Transaction
from holdfast.errors import StoreUnavailable
from holdfast.stores.sharded.app_transactions import JoinedShard, JoinedSyncShard, candidates
from holdfast.stores.sharded.one_shard import shard_of
from holdfast.stores.sharded.plan import Answers
from holdfast.stores.sharded.plans import Plans
from holdfast.stores.sharded.routing import Routing
from holdfast.stores.sharded.shard import Shard
from holdfast.stores.sharded.shard_transactions import ShardAppTransaction, ShardSyncAppTransaction
from holdfast.stores.sharded.store_transactions import ShardedSyncTransaction, ShardedTransaction
from holdfast.stores.sharded.wakeups import ShardedWakeups

R = TypeVar("R")


class ShardedStore(Store):
    """Several stores as one. A chain, its blockers and all chains of its key lie on one of them.

    A shard that does not answer is left out of claims, and calls that concern it raise StoreUnavailable. `home` places
    texts; tests replace it. Shards in `lent` belong to the caller: closing the sharded store does not close them.
    """

    sharded: ClassVar[bool] = True

    def __init__(
        self, stores: Mapping[str, Store], *, lent: Collection[str] = (), home: Callable[[str], str] | None = None
    ) -> None:
        if not stores:
            raise ValueError("a sharded store needs at least one store")
        self._routing = Routing(stores, home)
        self._shards = {name: Shard(name, store, self._routing, lent=name in lent) for name, store in stores.items()}
        self._plans = Plans(self._routing)
        self._joined_last = ""
        self.name = " ".join(shard.name for shard in self._shards.values())
        self.wakeups = ShardedWakeups(self.shards)

    @property
    def shards(self) -> Sequence[Shard]:
        return tuple(self._shards.values())

    @property
    def clock(self) -> Clock | None:
        return self.shards[0].clock

    @clock.setter
    def clock(self, clock: Clock | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride] - it has a setter
        for shard in self.shards:
            shard.clock = clock

    def shard_of(self, id: str, /) -> Shard:
        return self._shards[self._routing.of_id(id)]

    def check_open(self) -> None:
        for shard in self.shards:
            shard.check_open()

    async def open(self) -> None:
        """Connect to all shards. A shard that is not available is connected later; StoreUnavailable if none is."""
        _opened(await asyncio.gather(*(shard.open() for shard in self.shards), return_exceptions=True))

    def open_sync(self) -> None:
        _opened([_tried(shard.open_sync) for shard in self.shards])

    async def close(self) -> None:
        await asyncio.gather(*(shard.close() for shard in self.shards))

    def close_sync(self) -> None:
        for shard in self.shards:
            shard.close_sync()

    async def perform(self, operation: Operation[R], /) -> R:
        name = shard_of(self._routing, operation)
        if name is not None:
            return await self._shards[name].perform(operation)
        up = self._up()
        for shard in self.shards:
            if not shard.health.up:
                shard.health.probe(shard.probe)
        return cast(R, await drive_async(self._plans.of(operation, up), self._perform_all))

    def perform_sync(self, operation: Operation[R], /) -> R:
        name = shard_of(self._routing, operation)
        if name is not None:
            return self._shards[name].perform_sync(operation)
        up = self._up(rechecked=True)
        return cast(R, drive(self._plans.of(operation, up), self._perform_all_sync))

    async def begin(self) -> Transaction:
        """A transaction on the shards that its operations concern. Its commit is refused if it wrote to several."""
        return ShardedTransaction(self._shards, self._routing)

    def begin_sync(self) -> SyncTransaction:
        return ShardedSyncTransaction(self._shards, self._routing)

    def join(self, tx: Any) -> AppTransaction:
        def join(shard: Shard) -> ShardAppTransaction:
            return cast(ShardAppTransaction, shard.join(tx))

        return JoinedShard(tx, candidates(self._by_last_join(), join), self._remember_join)

    def join_sync(self, tx: Any) -> SyncAppTransaction:
        def join(shard: Shard) -> ShardSyncAppTransaction:
            return cast(ShardSyncAppTransaction, shard.join_sync(tx))

        return JoinedSyncShard(tx, candidates(self._by_last_join(), join), self._remember_join)

    async def migrate(self) -> list[str]:
        return [name for shard in self.shards for name in await shard.migrate()]

    def migrate_sync(self) -> list[str]:
        return [name for shard in self.shards for name in shard.migrate_sync()]

    def pending_migrations(self) -> list[str]:
        return [name for shard in self.shards for name in shard.pending_migrations()]

    def migration_script(self) -> str | None:
        """The script of the first shard that has one. It is run on each shard."""
        return next((script for shard in self.shards if (script := shard.migration_script()) is not None), None)

    def _up(self, *, rechecked: bool = False) -> Sequence[str]:
        """The shards that answered lately. If there is none, all: the caller must get the error, or an answer."""
        up = [
            name
            for name, shard in self._shards.items()
            if shard.health.up or (rechecked and shard.health.recheck_is_due)
        ]
        return up or self._routing.names

    async def _perform_all(self, operations: Mapping[str, Operation[Any]]) -> Answers:
        found = await asyncio.gather(
            *(self._shards[name].perform(operation) for name, operation in operations.items()), return_exceptions=True
        )
        return dict(zip(operations, map(_answer, found), strict=True))

    def _perform_all_sync(self, operations: Mapping[str, Operation[Any]]) -> Answers:
        answers: Answers = {}
        for name, operation in operations.items():
            try:
                answers[name] = self._shards[name].perform_sync(operation)
            except Exception as error:
                answers[name] = error
        return answers

    def _by_last_join(self) -> Sequence[Shard]:
        """The shards, beginning with that of the last joined connection: to try another one may need a statement."""
        return sorted(self.shards, key=lambda shard: shard.shard != self._joined_last)

    def _remember_join(self, name: str) -> None:
        self._joined_last = name


def _answer(found: Any) -> Any:
    if isinstance(found, BaseException) and not isinstance(found, Exception):
        raise found
    return found


def _tried(call: Callable[[], None]) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error
    return None


def _opened(results: Sequence[BaseException | None]) -> None:
    for error in results:
        if error is not None and not isinstance(error, StoreUnavailable):
            raise error
    if all(error is not None for error in results):
        raise next(error for error in results if error is not None)
