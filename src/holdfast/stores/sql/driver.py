"""What a plan needs of a connection: a driver is a page of code for each kind there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from holdfast.stores.sql.plan import Many, Row, Statement


class Driver(Protocol):
    """Runs statements on a blocking connection that the application gave us, inside its transaction."""

    def execute(self, step: Statement | Many, /) -> list[Row]: ...

    def connection(self) -> Any:
        """The driver's own connection object, to ask about its state. May connect, never begins or commits."""
        ...

    def after_commit(self, emit: Callable[[], None], /) -> bool:
        """Have `tell` called once, after the commit of the outermost transaction. False if there is no such hook.

        A rollback, also one to a savepoint before this call, discards `tell`.
        """
        ...

    def is_open(self) -> bool:
        """False if the transaction that was open here has ended. True if it may be open. Asks the driver only."""
        ...


class AsyncDriver(Protocol):
    """The same on an async connection."""

    async def execute(self, step: Statement | Many, /) -> list[Row]: ...

    async def connection(self) -> Any: ...

    def after_commit(self, emit: Callable[[], None], /) -> bool: ...

    def is_open(self) -> bool: ...
