"""The application's transaction: its shard is the one whose database the connection leads to.

The shard is found by the first operation, because that may need a statement on the connection.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, TypeVar

from holdfast.engine.generators import drive, drive_async
from holdfast.engine.operations import NextDue, Operation
from holdfast.engine.store import OtherDatabase
from holdfast.errors import StoreUnavailable
from holdfast.stores.sharded.shard import Shard
from holdfast.stores.sharded.shard_transactions import ShardAppTransaction, ShardSyncAppTransaction

R = TypeVar("R")
T = TypeVar("T", ShardAppTransaction, ShardSyncAppTransaction)

_ANY_READ = NextDue(())
"""Any operation checks the connection."""

Search = Generator[T, Exception | None, T]
"""Yields a transaction to try, and receives the error of its first operation."""


def candidates(shards: Sequence[Shard], join: Callable[[Shard], T]) -> list[T]:
    """The connection as a transaction of each shard that takes connections of its class."""
    found: list[T] = []
    refusal: TypeError | None = None
    for shard in shards:
        try:
            found.append(join(shard))
        except TypeError as error:
            refusal = refusal or error
    if not found and refusal is not None:
        raise refusal
    return found


def _search(found: Sequence[T], remember: Callable[[str], None]) -> Search[T]:
    outage: StoreUnavailable | None = None
    for tx in found:
        error = yield tx
        match error:
            case None:
                remember(tx.shard)
                return tx
            case OtherDatabase():
                continue
            case StoreUnavailable():  # the connection may lead to another shard, which answers
                outage = outage or error
            case _:
                raise error
    if outage is not None:
        raise outage
    names = ", ".join(tx.shard for tx in found)
    raise OtherDatabase(f"tx is a connection to another database than those of the shards {names}")


class _Joined(Generic[T]):
    """The application's transaction. `found` are the shards to which its connection may lead."""

    def __init__(self, native: Any, found: Sequence[T], remember: Callable[[str], None]) -> None:
        self.native = native
        self._found: Sequence[T] = found
        self._remember = remember
        self._tx: T | None = None

    def after_commit(self, call: Callable[[], None], /) -> bool:
        return (self._tx or self._found[0]).after_commit(call)

    def is_open(self) -> bool:
        return (self._tx or self._found[0]).is_open()


class JoinedShard(_Joined[ShardAppTransaction]):
    """The application's transaction in async code."""

    async def perform(self, operation: Operation[R], /) -> R:
        if self._tx is None:
            self._tx = await drive_async(_search(self._found, self._remember), self._try)
        return await self._tx.perform(operation)

    async def _try(self, tx: ShardAppTransaction) -> Exception | None:
        try:
            await tx.perform(_ANY_READ)
        except Exception as error:
            return error
        return None

    async def commit(self) -> None:
        await self._found[0].commit()

    async def rollback(self) -> None:
        await self._found[0].rollback()


class JoinedSyncShard(_Joined[ShardSyncAppTransaction]):
    """The application's transaction in blocking code."""

    def perform(self, operation: Operation[R], /) -> R:
        if self._tx is None:
            self._tx = drive(_search(self._found, self._remember), self._try)
        return self._tx.perform(operation)

    def _try(self, tx: ShardSyncAppTransaction) -> Exception | None:
        try:
            tx.perform(_ANY_READ)
        except Exception as error:
            return error
        return None

    def commit(self) -> None:
        self._found[0].commit()

    def rollback(self) -> None:
        self._found[0].rollback()

    def abandon(self) -> None:
        self._found[0].abandon()
