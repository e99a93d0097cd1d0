"""Connections that are lent to the application for the length of one transaction."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import aiosqlite

    from holdfast.stores.sqlite.threads import Threads

REFUSAL = (
    "this transaction is Holdfast's: it commits when the handler has returned and rolls back when it raises; "
    "leave commit(), rollback() and close() to it"
)
_SCRIPT = "executescript() would commit Holdfast's transaction before it begins; use execute() for each statement"


class HeldCursor(sqlite3.Cursor):
    def executescript(self, sql_script: str, /) -> NoReturn:
        raise RuntimeError(_SCRIPT)


class HeldConnection(sqlite3.Connection):
    """A connection on which only we end transactions. We do it by statement; the methods are refused."""

    lent = False
    facade: Any = None
    """The same connection for async code, once that used it."""
    line: Line
    """Of that."""

    def cursor(self, factory: Callable[[sqlite3.Connection], sqlite3.Cursor] | None = None) -> Any:
        return super().cursor(HeldCursor if factory is None else factory)

    def commit(self) -> NoReturn:
        raise RuntimeError(REFUSAL)

    def rollback(self) -> NoReturn:
        raise RuntimeError(REFUSAL)

    def executescript(self, sql_script: str, /) -> NoReturn:
        raise RuntimeError(_SCRIPT)

    def __enter__(self) -> NoReturn:
        raise RuntimeError(REFUSAL)

    def close(self) -> None:
        if self.lent:
            raise RuntimeError(REFUSAL)
        if self.facade is not None:
            self.facade.let_go()
        super().close()


class Line:
    """The application's statements on their way into the lane."""

    def __init__(self, lane: Threads) -> None:
        self._lane = lane
        # Counted apart, each by one thread, so that no count is lost.
        self._asked = 0
        self._done = 0

    @property
    def is_empty(self) -> bool:
        """Whether all that was asked for is done, also what a cancelled task did not wait for."""
        return self._asked == self._done

    def put_nowait(self, asked: tuple[asyncio.Future[Any], Callable[[], Any]]) -> None:
        """What aiosqlite calls in place of its own queue's."""
        future, work = asked
        self._asked += 1
        self._lane.ask(future, partial(self._do, work))

    def _do(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        finally:
            self._done += 1


def facade(connection: HeldConnection, lane: Threads) -> aiosqlite.Connection:
    """The same connection for async code. What it is asked for runs in `lane`, one after the other."""
    if connection.facade is None:
        connection.line = Line(lane)
        connection.facade = _facade_class()(connection, connection.line)
    made: aiosqlite.Connection = connection.facade
    return made


@cache
def _facade_class() -> type[Any]:
    import aiosqlite  # costs time, and blocking programs never need it

    class HeldFacade(aiosqlite.Connection):
        """Without a thread of its own, so never awaited: our statements and the application's stand in one line."""

        def __init__(self, connection: HeldConnection, line: Line) -> None:
            super().__init__(lambda: connection, 64)
            self._connection = connection
            self._tx: Any = line

        def let_go(self) -> None:
            self._running = False
            self._connection = None

        async def close(self) -> NoReturn:
            raise RuntimeError(REFUSAL)

        def stop(self) -> None:
            """There is no thread to stop."""

        def __del__(self) -> None:
            """The connection is the store's to close, and no business of whoever was lent it."""

    return HeldFacade
