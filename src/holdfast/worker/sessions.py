"""Transactions of the application's own SQLAlchemy sessions: its factory opens them, and they commit with the job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from holdfast.engine.operations import Operation
from holdfast.engine.store import Store, SyncTransaction, Transaction
from holdfast.stores.drivers.session_guard import SessionGuard

R = TypeVar("R")


class SessionTransaction:
    """A SQLAlchemy AsyncSession on the same database. It runs our statements in the application's transaction."""

    def __init__(self, store: Store, factory: Callable[[], Any]) -> None:
        self.native = factory()
        self._remove = _removal(factory)
        self._joined: Transaction = store.join(self.native)
        self._guard = SessionGuard(self.native)

    async def perform(self, operation: Operation[R], /) -> R:
        self._guard.check()
        return await self._joined.perform(operation)

    async def commit(self) -> None:
        try:
            self._guard.check()
            self._guard.take_back()
            await self.native.commit()
        finally:
            self._guard.take_back()
            await self.native.close()
            self._remove()

    async def rollback(self) -> None:
        self._guard.take_back()
        try:
            await self.native.rollback()
        finally:
            await self.native.close()
            self._remove()


class SyncSessionTransaction:
    """A SQLAlchemy Session on the same database. It runs our statements in the application's transaction."""

    def __init__(self, store: Store, factory: Callable[[], Any]) -> None:
        self.native = factory()
        self._remove = _removal(factory)
        self._joined: SyncTransaction = store.join_sync(self.native)
        self._guard = SessionGuard(self.native)

    def perform(self, operation: Operation[R], /) -> R:
        self._guard.check()
        return self._joined.perform(operation)

    def commit(self) -> None:
        try:
            self._guard.check()
            self._guard.take_back()
            self.native.commit()
        finally:
            self._guard.take_back()
            self.native.close()
            self._remove()

    def rollback(self) -> None:
        self._guard.take_back()
        try:
            self.native.rollback()
        finally:
            self.native.close()
            self._remove()

    def abandon(self) -> None:
        """Does nothing: only the session's own thread may use it. Its locks are released when the handler ends."""


def _removal(factory: Callable[[], Any]) -> Callable[[], None]:
    """Removes the closed session from a scoped factory, which would return it again. Called in the same scope."""
    registry = getattr(factory, "registry", None)
    clear: Callable[[], None] | None = getattr(registry, "clear", None)
    return clear or _nothing


def _nothing() -> None:
    return
