"""A store wrapper that records calls and applies failpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from holdfast.engine.operations import Operation, Settle
from holdfast.engine.store import AppTransaction, Store, SyncAppTransaction, SyncTransaction, Transaction
from holdfast.engine.wakeups import Wakeups
from holdfast.errors import StoreUnavailable
from holdfast.stores.sql.lent_transaction import may_commit
from torture.failpoints import Watch

R = TypeVar("R")


async def opened(store: Store) -> None:
    """Open a store; retry for as long as it is unavailable."""
    while True:
        try:
            await store.open()
            return
        except StoreUnavailable:
            await asyncio.sleep(0.2)


class WatchedStore(Store):
    """Wraps another store."""

    def __init__(self, inner: Store, watch: Watch, wakeups: Wakeups | None = None) -> None:
        self.inner = inner
        self.name = inner.name
        self.clock = inner.clock
        self.wakeups = wakeups or inner.wakeups
        self._watch = watch

    async def perform(self, operation: Operation[R], /) -> R:
        self._watch.meet(operation.verb, "before")
        asked = self._watch.asked(operation)
        try:
            answer = await self.inner.perform(operation)
        except Exception as error:
            self._watch.raised(operation, error)
            raise
        self._watch.meet(operation.verb, "after")
        self._watch.answered(operation, answer, asked)
        return answer

    def perform_sync(self, operation: Operation[R], /) -> R:
        self._watch.meet(operation.verb, "before")
        asked = self._watch.asked(operation)
        try:
            answer = self.inner.perform_sync(operation)
        except Exception as error:
            self._watch.raised(operation, error)
            raise
        self._watch.meet(operation.verb, "after")
        self._watch.answered(operation, answer, asked)
        return answer

    async def begin(self) -> Transaction:
        return await self._begun(self.inner.begin)

    async def begin_lazily(self) -> Transaction:
        return await self._begun(self.inner.begin_lazily)

    async def _begun(self, begin: Callable[[], Awaitable[Transaction]]) -> Transaction:
        self._watch.meet("begin", "before")
        begun = await begin()
        try:
            self._watch.meet("begin", "after")
        except StoreUnavailable:
            await begun.rollback()  # a caller that gets an error does not end the transaction
            raise
        return WatchedTransaction(begun, self._watch)

    def begin_sync(self) -> SyncTransaction:
        return self._begun_sync(self.inner.begin_sync)

    def begin_lazily_sync(self) -> SyncTransaction:
        return self._begun_sync(self.inner.begin_lazily_sync)

    def _begun_sync(self, begin: Callable[[], SyncTransaction]) -> SyncTransaction:
        self._watch.meet("begin", "before")
        begun = begin()
        try:
            self._watch.meet("begin", "after")
        except StoreUnavailable:
            begun.rollback()
            raise
        return WatchedSyncTransaction(begun, self._watch)

    def join(self, tx: Any) -> AppTransaction:
        self._watch.meet("join", "before")
        joined = self.inner.join(tx)
        self._watch.meet("join", "after")
        return WatchedAppTransaction(joined, self._watch)

    def join_sync(self, tx: Any) -> SyncAppTransaction:
        self._watch.meet("join", "before")
        joined = self.inner.join_sync(tx)
        self._watch.meet("join", "after")
        return WatchedSyncAppTransaction(joined, self._watch)

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    def open_sync(self) -> None:
        self.inner.open_sync()

    def close_sync(self) -> None:
        self.inner.close_sync()

    async def migrate(self) -> list[str]:
        return await self.inner.migrate()

    def migrate_sync(self) -> list[str]:
        return self.inner.migrate_sync()


class WatchedTransaction:
    """Wraps a transaction. Its settlements are recorded after the commit."""

    def __init__(self, inner: Transaction, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch
        self._answers: list[tuple[Operation[Any], Any, int]] = []
        self._committing = False
        """Whether the settlement was sent that may commit: a failure before the commit is not possible any more."""

    @property
    def native(self) -> Any:
        return self._inner.native

    async def perform(self, operation: Operation[R], /) -> R:
        self._watch.meet(operation.verb, "before")
        if may_commit(operation):
            await self._begin_commit()
            self._committing = True
        asked = self._watch.asked(operation)
        try:
            answer = await self._inner.perform(operation)
        except Exception as error:
            self._watch.raised(operation, error)
            raise
        self._watch.meet(operation.verb, "after")
        self._answers.append((operation, answer, asked))
        return answer

    async def commit(self) -> None:
        if not self._committing:
            await self._begin_commit()
        await self._inner.commit()
        self._watch.meet("commit", "after")
        for each in self._answers:
            self._watch.answered(*each)

    async def rollback(self) -> None:
        self._watch.meet("rollback", "before")
        await self._inner.rollback()
        self._watch.meet("rollback", "after")
        _note_losses(self._watch, self._answers)

    async def _begin_commit(self) -> None:
        try:
            self._watch.meet("commit", "before")
        except StoreUnavailable:
            await self._inner.rollback()  # a failed commit leaves no open transaction
            raise


class WatchedSyncTransaction:
    """The same for blocking code."""

    def __init__(self, inner: SyncTransaction, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch
        self._answers: list[tuple[Operation[Any], Any, int]] = []
        self._committing = False
        """Whether the settlement was sent that may commit: a failure before the commit is not possible any more."""

    @property
    def native(self) -> Any:
        return self._inner.native

    def perform(self, operation: Operation[R], /) -> R:
        self._watch.meet(operation.verb, "before")
        if may_commit(operation):
            self._begin_commit()
            self._committing = True
        asked = self._watch.asked(operation)
        try:
            answer = self._inner.perform(operation)
        except Exception as error:
            self._watch.raised(operation, error)
            raise
        self._watch.meet(operation.verb, "after")
        self._answers.append((operation, answer, asked))
        return answer

    def commit(self) -> None:
        if not self._committing:
            self._begin_commit()
        self._inner.commit()
        self._watch.meet("commit", "after")
        for each in self._answers:
            self._watch.answered(*each)

    def rollback(self) -> None:
        self._watch.meet("rollback", "before")
        self._inner.rollback()
        self._watch.meet("rollback", "after")
        _note_losses(self._watch, self._answers)

    def _begin_commit(self) -> None:
        try:
            self._watch.meet("commit", "before")
        except StoreUnavailable:
            self._inner.rollback()
            raise

    def abandon(self) -> None:
        self._inner.abandon()


def _note_losses(watch: Watch, answers: list[tuple[Operation[Any], Any, int]]) -> None:
    """Record refused settlements of a rolled back transaction; written ones were undone."""
    for operation, answer, asked in answers:
        if isinstance(operation, Settle) and not any(each.written for each in answer):
            watch.answered(operation, answer, asked)


class WatchedAppTransaction(WatchedTransaction):
    """Wraps a transaction of the application."""

    def __init__(self, inner: AppTransaction, watch: Watch) -> None:
        super().__init__(inner, watch)
        self.after_commit = inner.after_commit
        self.is_open = inner.is_open


class WatchedSyncAppTransaction(WatchedSyncTransaction):
    """The same for blocking code."""

    def __init__(self, inner: SyncAppTransaction, watch: Watch) -> None:
        super().__init__(inner, watch)
        self.after_commit = inner.after_commit
        self.is_open = inner.is_open
