"""The interface of the drivers in `holdfast.stores.drivers`, one for each type of connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from holdfast.stores.sql.plan import Many, Plan, Row, Statement

R = TypeVar("R")


class Driver(Protocol):
    """Executes statements on a blocking connection of the application, inside its transaction."""

    def execute(self, instruction: Statement | Many, /) -> list[Row]: ...

    def connection(self) -> Any:
        """The connection object of the database driver. May connect, but never begins or commits."""
        ...

    def after_commit(self, send: Callable[[], None], /) -> bool:
        """Call `send` once, after the commit of the outermost transaction. False if there is no such hook.

        A rollback discards the call. So does a rollback to a savepoint that was set before it.
        """
        ...

    def is_open(self) -> bool:
        """False if the transaction has ended. True if it may be open. Does not contact the server."""
        ...


class AsyncDriver(Protocol):
    """Executes plans on an async connection of the application."""

    async def run(self, plan: Plan[R], /) -> R:
        """Execute the statements of a plan. Returns its result."""
        ...

    async def execute(self, instruction: Statement | Many, /) -> list[Row]: ...

    async def connection(self) -> Any: ...

    def after_commit(self, send: Callable[[], None], /) -> bool: ...

    def is_open(self) -> bool: ...
