"""The application's own transaction as one of ours. We run statements in it, and never begin, commit or roll back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from holdfast.engine.operations import Operation
from holdfast.engine.wakeups import Hints
from holdfast.stores.sql.driver import AsyncDriver, Driver
from holdfast.stores.sql.lent_transaction import Mark
from holdfast.stores.sql.plan import Plan, Turn, run, run_async

R = TypeVar("R")

REFUSAL = "this transaction is the application's own: commit or roll it back there"


class Joins(Protocol):
    """What a SQL store says about transactions that are not its own."""

    def turn(self) -> Turn:
        """A new turn, now."""
        ...

    def plan_joined(self, operation: Operation[R], turn: Turn, connection: Any, mark: Mark, /) -> Plan[R]:
        """The plan of an operation, preceded by whatever a connection of the application's needs.

        Raises ValueError where the connection is not one to this store, or commits each statement by itself, and
        RuntimeError where the transaction that an earlier operation marked has ended.
        """
        ...

    def translated(self) -> AbstractContextManager[None]:
        """Turns the database's errors into ours."""
        ...

    def send(self, hints: Hints, /) -> None:
        """Wake whoever has something to do after a commit."""
        ...

    def send_soon(self, hints: Hints, /) -> None:
        """The same for a commit that nobody will tell us of: it happens soon, or never."""
        ...


class _Telling:
    """Sends hints after the commit, where the driver has a hook for it."""

    def __init__(self, store: Joins, after_commit: Callable[[Callable[[], None]], bool]) -> None:
        self._store = store
        self._after_commit = after_commit

    def gather(self, hints: Hints) -> None:
        # One callback for each operation: a rollback to a savepoint discards only the callbacks that came after it.
        if hints and not self._after_commit(lambda: self._store.send(hints)):
            self._store.send_soon(hints)


class JoinedSyncTransaction:
    """The application's transaction in blocking code."""

    def __init__(self, store: Joins, driver: Driver, native: Any) -> None:
        self.native = native
        self._store = store
        self._driver = driver
        self._mark = Mark()
        self._telling = _Telling(store, driver.after_commit)

    def perform(self, operation: Operation[R], /) -> R:
        turn = self._store.turn()
        with self._store.translated():
            connection = self._driver.connection()
            self._check(connection)
            plan = self._store.plan_joined(operation, turn, connection, self._mark)
            answer = run(plan, self._driver.execute)
        self._telling.gather(turn.hints)
        return answer

    def _check(self, connection: Any) -> None:
        """Raise if the connection does not belong to this store. A store that has to ask a server overrides this."""

    def after_commit(self, call: Callable[[], None], /) -> bool:
        return self._driver.after_commit(call)

    def is_open(self) -> bool:
        try:
            return self._driver.is_open()
        except Exception:  # a connection that was closed, or given back to its pool
            return False

    def commit(self) -> None:
        raise RuntimeError(REFUSAL)

    def rollback(self) -> None:
        raise RuntimeError(REFUSAL)

    def abandon(self) -> None:
        raise RuntimeError(REFUSAL)


class JoinedTransaction:
    """The application's transaction in async code."""

    def __init__(self, store: Joins, driver: AsyncDriver, native: Any) -> None:
        self.native = native
        self._store = store
        self._driver = driver
        self._mark = Mark()
        self._telling = _Telling(store, driver.after_commit)

    async def perform(self, operation: Operation[R], /) -> R:
        turn = self._store.turn()
        with self._store.translated():
            connection = await self._driver.connection()
            await self._check(connection)
            plan = self._store.plan_joined(operation, turn, connection, self._mark)
            answer = await run_async(plan, self._driver.execute)
        self._telling.gather(turn.hints)
        return answer

    async def _check(self, connection: Any) -> None:
        """Raise if the connection does not belong to this store. A store that has to ask a server overrides this."""

    def after_commit(self, call: Callable[[], None], /) -> bool:
        return self._driver.after_commit(call)

    def is_open(self) -> bool:
        try:
            return self._driver.is_open()
        except Exception:  # a connection that was closed, or given back to its pool
            return False

    async def commit(self) -> None:
        raise RuntimeError(REFUSAL)

    async def rollback(self) -> None:
        raise RuntimeError(REFUSAL)
