"""Operations in the application's own transaction (`tx=`). Holdfast never begins, commits or rolls it back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, Protocol, TypeVar

from holdfast.engine.generators import drive
from holdfast.engine.operations import Operation
from holdfast.engine.wakeups import Hints
from holdfast.stores.sql.driver import AsyncDriver, Driver
from holdfast.stores.sql.lent_transaction import TransactionIdentity
from holdfast.stores.sql.plan import Plan, PlanContext

R = TypeVar("R")
D = TypeVar("D", bound=Driver | AsyncDriver)

REFUSAL = "this transaction is the application's own: commit or roll it back there"


class JoinableStore(Protocol):
    """What a SQL store provides for operations in the application's transaction."""

    def new_context(self) -> PlanContext:
        """A context for one plan, with the time of the store."""
        ...

    def plan_joined(
        self, operation: Operation[R], context: PlanContext, connection: Any, identity: TransactionIdentity, /
    ) -> Plan[R]:
        """The plan of an operation, after the checks of the application's connection.

        ValueError: the connection leads to another database, or commits each statement by itself. RuntimeError: the
        transaction of an earlier operation has ended.
        """
        ...

    def translated(self) -> AbstractContextManager[None]:
        """A context manager that translates the errors of the database into errors of Holdfast."""
        ...

    def send(self, hints: Hints, /) -> None:
        """Send wake-ups after a commit."""
        ...

    def send_soon(self, hints: Hints, /) -> None:
        """Send wake-ups for a transaction without a commit hook. Whether and when it commits is not known."""
        ...


class _JoinedTransaction(Generic[D]):
    """What the blocking and the async transaction share."""

    def __init__(self, store: JoinableStore, driver: D, native: Any) -> None:
        self.native = native
        self._store = store
        self._driver = driver
        self._identity = TransactionIdentity()

    def after_commit(self, call: Callable[[], None], /) -> bool:
        return self._driver.after_commit(call)

    def is_open(self) -> bool:
        try:
            return self._driver.is_open()
        except Exception:  # the connection was closed, or returned to its pool
            return False

    def _send(self, hints: Hints) -> None:
        """Send hints after the commit, if the driver has a hook for it."""
        # One callback for each operation: a rollback to a savepoint discards only the callbacks after the savepoint.
        if hints and not self._driver.after_commit(lambda: self._store.send(hints)):
            self._store.send_soon(hints)


class JoinedSyncTransaction(_JoinedTransaction[Driver]):
    """The application's transaction in blocking code."""

    def perform(self, operation: Operation[R], /) -> R:
        context = self._store.new_context()
        with self._store.translated():
            connection = self._driver.connection()
            self._check(connection)
            plan = self._store.plan_joined(operation, context, connection, self._identity)
            result = drive(plan, self._driver.execute)
        self._send(context.hints)
        return result

    def _check(self, connection: Any) -> None:
        """Raise if the connection does not belong to this store. A store that has to query the server overrides it."""

    def commit(self) -> None:
        raise RuntimeError(REFUSAL)

    def rollback(self) -> None:
        raise RuntimeError(REFUSAL)

    def abandon(self) -> None:
        raise RuntimeError(REFUSAL)


class JoinedTransaction(_JoinedTransaction[AsyncDriver]):
    """The application's transaction in async code."""

    async def perform(self, operation: Operation[R], /) -> R:
        context = self._store.new_context()
        with self._store.translated():
            connection = await self._driver.connection()
            await self._check(connection)
            plan = self._store.plan_joined(operation, context, connection, self._identity)
            result = await self._driver.run(plan)
        self._send(context.hints)
        return result

    async def _check(self, connection: Any) -> None:
        """Raise if the connection does not belong to this store. A store that has to query the server overrides it."""

    async def commit(self) -> None:
        raise RuntimeError(REFUSAL)

    async def rollback(self) -> None:
        raise RuntimeError(REFUSAL)
