"""Transactions of the application's own SQLAlchemy sessions: its factory opens them, and they commit with the job."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from holdfast.engine.operations import Operation, SaveSteps, Settle
from holdfast.engine.store import Store, SyncTransaction, Transaction
from holdfast.engine.unawaited import UnawaitedCalls
from holdfast.stores.drivers.session_guard import SessionGuard

R = TypeVar("R")

_ENDS = frozenset({SaveSteps.verb, Settle.verb})
"""The last operations of a transaction."""
_STATEMENTS = ("execute", "scalars", "scalar", "flush", "merge", "delete", "refresh", "run_sync")
"""Methods of an AsyncSession that do nothing if they are not awaited."""


class SessionTransaction:
    """A SQLAlchemy AsyncSession on the same database. It runs our statements in the application's transaction."""

    def __init__(self, store: Store, factory: Callable[[], Any]) -> None:
        self.native = factory()
        self._remove = _removal(factory)
        self._joined: Transaction = store.join(self.native)
        self._guard = SessionGuard(self.native)
        self.unawaited = UnawaitedCalls()
        _track_statements(self.native, self.unawaited)

    async def perform(self, operation: Operation[R], /) -> R:
        self._guard.check()
        if operation.verb in _ENDS and self._guard.has_savepoint:
            await self.native.run_sync(self._guard.commit_savepoints)
        return await self._joined.perform(operation)

    async def commit(self) -> None:
        try:
            self._guard.check()
            self._take_back()
            await self.native.commit()
        finally:
            self._take_back()
            await self.native.close()
            self._remove()

    async def rollback(self) -> None:
        self._take_back()
        try:
            await self.native.rollback()
        finally:
            await self.native.close()
            self._remove()

    def _take_back(self) -> None:
        self._guard.take_back()
        _end_tracking(self.native)


class SyncSessionTransaction:
    """A SQLAlchemy Session on the same database. It runs our statements in the application's transaction."""

    def __init__(self, store: Store, factory: Callable[[], Any]) -> None:
        self.native = factory()
        self._remove = _removal(factory)
        self._joined: SyncTransaction = store.join_sync(self.native)
        self._guard = SessionGuard(self.native)

    def perform(self, operation: Operation[R], /) -> R:
        self._guard.check()
        if operation.verb in _ENDS:
            self._guard.commit_savepoints()
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
        """Does nothing: only its own thread may use the session. Its locks are released when the handler ends."""


def _track_statements(session: Any, calls: UnawaitedCalls) -> None:
    for name in _STATEMENTS if hasattr(session, "__dict__") else ():
        method = getattr(session.__class__, name, None)
        if inspect.iscoroutinefunction(method):
            vars(session)[name] = partial(_tracked, calls, f"session.{name}(...)", partial(method, session))


def _end_tracking(session: Any) -> None:
    attributes: dict[str, Any] = getattr(session, "__dict__", {})
    for name in _STATEMENTS:
        attributes.pop(name, None)


def _tracked(
    calls: UnawaitedCalls, name: str, method: Callable[..., Coroutine[Any, Any, R]], /, *args: Any, **options: Any
) -> Coroutine[Any, Any, R]:
    return calls.track(name, method(*args, **options))


def _removal(factory: Callable[[], Any]) -> Callable[[], None]:
    """A function that removes the closed session from a scoped factory, which would otherwise return it again.

    It must be called in the same scope.
    """
    registry = getattr(factory, "registry", None)
    clear: Callable[[], None] | None = getattr(registry, "clear", None)
    return clear or _nothing


def _nothing() -> None:
    return
