"""Transactions of the sharded store: one on each shard that an operation concerns. Only one shard may be written.

The commits of two shards cannot be atomic together. Reads, and writes that are rolled back, may concern several.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from holdfast.engine.generators import drive, drive_async
from holdfast.engine.operations import Operation
from holdfast.engine.store import SyncTransaction, Transaction
from holdfast.errors import WrongShard
from holdfast.stores.sharded.one_shard import shard_of
from holdfast.stores.sharded.plan import Answers
from holdfast.stores.sharded.plans import Plans
from holdfast.stores.sharded.routing import Routing
from holdfast.stores.sharded.shard import Shard

R = TypeVar("R")

_LOCKS = ("guard", "lock")


class _ShardTransactions:
    """What both kinds share: which shards were written."""

    def __init__(self, shards: Mapping[str, Shard], routing: Routing) -> None:
        self._shards = shards
        self._routing = routing
        self._plans = Plans(routing)
        self._written: set[str] = set()

    def _note(self, name: str, operation: Operation[Any]) -> None:
        if operation.writes and operation.verb not in _LOCKS:
            self._written.add(name)

    def _check_commit(self) -> None:
        if len(self._written) > 1:
            raise WrongShard(f"one transaction cannot write to several shards: {', '.join(sorted(self._written))}")


class ShardedTransaction(_ShardTransactions):
    """A transaction in async code."""

    def __init__(self, shards: Mapping[str, Shard], routing: Routing) -> None:
        super().__init__(shards, routing)
        self._txs: dict[str, Transaction] = {}

    @property
    def native(self) -> Any:
        return next(iter(self._txs.values())).native if len(self._txs) == 1 else None

    async def perform(self, operation: Operation[R], /) -> R:
        name = shard_of(self._routing, operation)
        if name is not None:
            return await self._on(name, operation)
        return cast(R, await drive_async(self._plans.of(operation, self._routing.names), self._perform_all))

    async def commit(self) -> None:
        try:
            self._check_commit()
        except WrongShard:
            await self.rollback()
            raise
        for tx in self._txs.values():
            await tx.commit()

    async def rollback(self) -> None:
        for tx in self._txs.values():
            await tx.rollback()

    async def _on(self, name: str, operation: Operation[R]) -> R:
        if name not in self._txs:
            self._txs[name] = await self._shards[name].begin()
        self._note(name, operation)
        return await self._txs[name].perform(operation)

    async def _perform_all(self, operations: Mapping[str, Operation[Any]]) -> Answers:
        answers: Answers = {}
        for name, operation in operations.items():
            try:
                answers[name] = await self._on(name, operation)
            except Exception as error:
                answers[name] = error
        return answers


class ShardedSyncTransaction(_ShardTransactions):
    """A transaction in blocking code."""

    def __init__(self, shards: Mapping[str, Shard], routing: Routing) -> None:
        super().__init__(shards, routing)
        self._txs: dict[str, SyncTransaction] = {}

    @property
    def native(self) -> Any:
        return next(iter(self._txs.values())).native if len(self._txs) == 1 else None

    def perform(self, operation: Operation[R], /) -> R:
        name = shard_of(self._routing, operation)
        if name is not None:
            return self._on(name, operation)
        return cast(R, drive(self._plans.of(operation, self._routing.names), self._perform_all))

    def commit(self) -> None:
        try:
            self._check_commit()
        except WrongShard:
            self.rollback()
            raise
        for tx in self._txs.values():
            tx.commit()

    def rollback(self) -> None:
        for tx in self._txs.values():
            tx.rollback()

    def abandon(self) -> None:
        for tx in self._txs.values():
            tx.abandon()

    def _on(self, name: str, operation: Operation[R]) -> R:
        if name not in self._txs:
            self._txs[name] = self._shards[name].begin_sync()
        self._note(name, operation)
        return self._txs[name].perform(operation)

    def _perform_all(self, operations: Mapping[str, Operation[Any]]) -> Answers:
        answers: Answers = {}
        for name, operation in operations.items():
            try:
                answers[name] = self._on(name, operation)
            except Exception as error:
                answers[name] = error
        return answers
