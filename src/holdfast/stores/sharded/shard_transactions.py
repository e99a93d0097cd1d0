"""Transactions on one shard: they refuse what belongs on another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from holdfast.engine.operations import GetSchedules, Operation, Place
from holdfast.engine.store import AppTransaction, SyncAppTransaction, SyncTransaction, Transaction
from holdfast.errors import WrongShard
from holdfast.stores.sharded.batches import ids_of
from holdfast.stores.sharded.one_shard import shard_of
from holdfast.stores.sharded.ownership import owned
from holdfast.stores.sharded.placement import place
from holdfast.stores.sharded.routing import Routing

R = TypeVar("R")
T = TypeVar("T", bound=Transaction | SyncTransaction)


class _Checked(Generic[T]):
    """Checks the operations of a transaction on one shard."""

    def __init__(self, tx: T, routing: Routing, shard: str) -> None:
        self._tx = tx
        self._routing = routing
        self.shard = shard

    @property
    def native(self) -> Any:
        return self._tx.native

    def _place(self, operation: Place) -> Any:
        return place(self._routing, operation.jobs, {}, tx=(self.shard,))

    def _checked(self, operation: Operation[R]) -> Operation[R]:
        found = {self._routing.of_id(id): id for id in ids_of(operation)}
        found.update((self._routing.of_schedule(name), f"schedule {name}") for name in _schedules(operation))
        one = shard_of(self._routing, operation)
        if one is not None:
            found[one] = operation.verb
        for other in sorted(found.keys() - {self.shard}):
            raise WrongShard(f"{found[other]} belongs on the shard {other}, and this transaction is on {self.shard}")
        return owned(self._routing, self.shard, operation)


def _schedules(operation: Operation[Any]) -> tuple[str, ...]:
    return operation.names or () if isinstance(operation, GetSchedules) else ()


class ShardTransaction(_Checked[Transaction]):
    """A transaction of a shard in async code."""

    async def perform(self, operation: Operation[R], /) -> R:
        if isinstance(operation, Place):
            return cast(R, self._place(operation))
        return await self._tx.perform(self._checked(operation))

    async def commit(self) -> None:
        await self._tx.commit()

    async def rollback(self) -> None:
        await self._tx.rollback()


class ShardSyncTransaction(_Checked[SyncTransaction]):
    """A transaction of a shard in blocking code."""

    def perform(self, operation: Operation[R], /) -> R:
        if isinstance(operation, Place):
            return cast(R, self._place(operation))
        return self._tx.perform(self._checked(operation))

    def commit(self) -> None:
        self._tx.commit()

    def rollback(self) -> None:
        self._tx.rollback()

    def abandon(self) -> None:
        self._tx.abandon()


class ShardAppTransaction(ShardTransaction):
    """The application's transaction on the database of a shard, in async code."""

    _tx: AppTransaction

    def after_commit(self, call: Callable[[], None], /) -> bool:
        return self._tx.after_commit(call)

    def is_open(self) -> bool:
        return self._tx.is_open()


class ShardSyncAppTransaction(ShardSyncTransaction):
    """The application's transaction on the database of a shard, in blocking code."""

    _tx: SyncAppTransaction

    def after_commit(self, call: Callable[[], None], /) -> bool:
        return self._tx.after_commit(call)

    def is_open(self) -> bool:
        return self._tx.is_open()
