"""Connections that are lent to the application for the length of one transaction."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast
from weakref import ref

from holdfast.stores.sql.lent_transaction import OVER, Lending, ended

if TYPE_CHECKING:
    import aiosqlite

    from holdfast.stores.sqlite.connection.threads import Threads
    from holdfast.stores.sqlite.writing.write_queue import Waiter

Opened = TypeVar("Opened", sqlite3.Cursor, sqlite3.Blob)
R = TypeVar("R")

_SCRIPT = "executescript()"
"""It commits the open transaction before it begins."""

_TRANSACTION = 22
"""SQLITE_TRANSACTION, which Python 3.11 does not name: a statement that begins or ends a transaction."""

_FEW = 64
"""Cursors noted before those that are gone are forgotten."""


class HeldCursor(sqlite3.Cursor):
    def execute(self, sql: str, /, *args: Any) -> HeldCursor:
        self._held.check_statement(sql)
        super().execute(sql, *args)
        return self

    def executemany(self, sql: str, *args: Any) -> HeldCursor:
        self._held.check_statement(sql)
        super().executemany(sql, *args)
        return self

    def executescript(self, sql_script: str, /) -> NoReturn:
        self._held.lending.refuse(_SCRIPT)

    @property
    def _held(self) -> HeldConnection:
        return cast("HeldConnection", self.connection)


class HeldConnection(sqlite3.Connection):
    """A connection on which only we end transactions. We do it by statement; the methods are refused."""

    lent = False
    lending: Lending
    """The state of the current transaction, or of the last one."""
    waiter: Waiter | None = None
    """The place of its transaction in the line of those that write."""
    dropped: Callable[[], object] | None = None
    """Called once nobody is left who could end the transaction."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._reading: list[ref[sqlite3.Cursor | sqlite3.Blob]] = []
        self._tidied = _FEW
        self._ending = False
        self.lending = Lending()
        self.set_authorizer(_authorizer(self))

    def lend(self) -> None:
        """A transaction has begun, and the application may use it from now on."""
        self.lending = Lending()
        self.lent = True

    def take_back(self) -> None:
        """The application uses it no more; the transaction may end."""
        self.lent = False

    def end(self, how: str) -> None:
        """Commit or roll back."""
        self._ending = True
        try:
            # As the application would not write it: a statement that Python has kept is not authorized again.
            super().execute(f"{how} /* Holdfast */")
        finally:
            self._ending = False

    def check_open(self) -> None:
        """RuntimeError if the application ended the transaction, or tried to: each statement would commit by itself."""
        self.lending.check()
        if not self.in_transaction:
            raise ended()

    def check_statement(self, sql: str) -> None:
        """RuntimeError for a statement of the application that would begin or end a transaction."""
        if self.lent:
            self.lending.refuse_statement(sql)

    def cursor(self, factory: Callable[[sqlite3.Connection], sqlite3.Cursor] | None = None) -> Any:
        return self._note(super().cursor(HeldCursor if factory is None else factory))

    def execute(self, sql: str, /, *args: Any) -> sqlite3.Cursor:
        self.check_statement(sql)
        return self._note(super().execute(sql, *args))

    def executemany(self, sql: str, /, *args: Any) -> sqlite3.Cursor:
        self.check_statement(sql)
        return self._note(super().executemany(sql, *args))

    def blobopen(self, *args: Any, **options: Any) -> sqlite3.Blob:
        return self._note(super().blobopen(*args, **options))

    def end_reading(self) -> None:
        """Close what was opened to read and is still there: it would hold on to what it sees of the file.

        No other transaction could begin on this connection once another one has written, and no checkpoint get past it.
        """
        reading, self._reading, self._tidied = self._reading, [], _FEW
        for each in reading:
            if (opened := each()) is not None:
                with suppress(sqlite3.Error):  # made by a factory of the application's, and not as it should be
                    opened.close()

    def _note(self, opened: Opened) -> Opened:
        self._reading.append(ref(opened))
        if len(self._reading) > self._tidied:
            self._reading = [each for each in self._reading if each() is not None]
            self._tidied = _FEW + 2 * len(self._reading)
        return opened

    @contextmanager
    def plain(self) -> Generator[None]:
        """Rows are tuples meanwhile, whatever the application has them made into."""
        factories = self.row_factory, self.text_factory
        self.make_plain()
        try:
            yield
        finally:
            self.row_factory, self.text_factory = factories

    def make_plain(self) -> None:
        self.row_factory, self.text_factory = None, str

    def commit(self) -> NoReturn:
        self.lending.refuse("commit()")

    def rollback(self) -> NoReturn:
        self.lending.refuse("rollback()")

    def executescript(self, sql_script: str, /) -> NoReturn:
        self.lending.refuse(_SCRIPT)

    def __enter__(self) -> NoReturn:
        self.lending.refuse("`with connection`")

    def close(self) -> None:
        if self.lent:
            self.lending.refuse("close()")
        super().close()

    def __setattr__(self, name: str, value: Any) -> None:
        """Python's sqlite3 commits when one of these is set."""
        if self.lent and name in ("isolation_level", "autocommit"):
            self.lending.refuse(f"setting {name}")
        super().__setattr__(name, value)

    def authorize(self, action: int, command: str | None) -> int:
        """What SQLite asks when it prepares a statement: also one of a cursor that is not ours."""
        if action != _TRANSACTION or not self.lent or self._ending:
            return sqlite3.SQLITE_OK
        with suppress(RuntimeError):
            self.lending.refuse(command or "this statement")
        return sqlite3.SQLITE_DENY

    def __del__(self) -> None:
        """Also while the collector works, in any thread and any place: here nothing may wait for a lock."""
        if self.lent and self.dropped is not None:
            self.lent = False
            super().close()
            self.dropped()


def _authorizer(connection: HeldConnection) -> Callable[..., int]:
    # It must not keep the connection: what a dropped one holds is given back at once.
    held = ref(connection)

    def authorize(action: int, command: str | None, *_: str | None) -> int:
        connection = held()
        return sqlite3.SQLITE_OK if connection is None else connection.authorize(action, command)

    return authorize


class Line:
    """What one transaction is asked for on its way into the lane: the application's statements, and our own work."""

    def __init__(self, lane: Threads) -> None:
        self._lane = lane
        self.over = False
        """Whether the transaction has ended. Its connection may be in the next one, so statements are refused."""
        # Counted apart, each by one thread, so that no count is lost.
        self._asked = 0
        self._done = 0

    @property
    def is_empty(self) -> bool:
        """Whether all that was asked for is done, also what a cancelled task did not wait for."""
        return self._asked == self._done

    async def finish(self, work: Callable[[], R]) -> R:
        """Do work of ours, behind what was asked for before. A task that is cancelled waits for its end."""
        self._asked += 1
        return await self._lane.finish(partial(self._do, work))

    def put_nowait(self, asked: tuple[asyncio.Future[Any], Callable[[], Any]]) -> None:
        """What aiosqlite calls in place of its own queue's."""
        future, statement = asked
        self._asked += 1
        self._lane.ask(future, partial(self._do, partial(self._execute, statement)))

    def _execute(self, statement: Callable[[], R]) -> R:
        if self.over:
            raise RuntimeError(OVER)
        return statement()

    def _do(self, work: Callable[[], R]) -> R:
        try:
            return work()
        finally:
            self._done += 1


def facade(connection: HeldConnection, line: Line) -> aiosqlite.Connection:
    """The connection for async code, for the length of one transaction: what it is asked for goes into `line`."""
    made: aiosqlite.Connection = _facade_class()(connection, line)
    return made


@cache
def _facade_class() -> type[Any]:
    import aiosqlite  # costs time, and blocking programs never need it

    class HeldFacade(aiosqlite.Connection):
        """Without a thread of its own: our work and the application's statements stand in one line."""

        def __init__(self, connection: HeldConnection, line: Line) -> None:
            super().__init__(lambda: connection, 64)
            self._connection = connection
            self._tx: Any = line
            self._lending = connection.lending

        def __await__(self) -> NoReturn:
            """Also what `async with` begins with: it would start a thread, and end the transaction."""
            self._lending.refuse("`async with connection`")

        async def close(self) -> NoReturn:
            self._lending.refuse("close()")

        def stop(self) -> None:
            """There is no thread to stop."""

        def __del__(self) -> None:
            """The connection is the store's to close, and no business of whoever was lent it."""

    return HeldFacade
